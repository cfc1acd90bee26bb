import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { fileServerIn } from '../../shared/policy/file-server/effective.ts';
import { errorRootsIn } from '../../shared/policy/handle-errors/error-roots.ts';
import type { RouteSpec } from '../../shared/route.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { PROCESS_USER } from '../../shared/runtime/process/process-user.ts';
import type { LiveTable } from '../table/live-table.ts';
import type { OwnedRoute } from '../table/table.ts';
import { named } from './named-sites.ts';

/** How often the directories are looked at (ms). */
const CHECK_MS = 10_000;
/** The maximum number of directories that are named at once. */
const MAX_NAMED = 20;

const rootsOf = (route: RouteSpec): Set<string> =>
  new Set(
    [null, ...route.handles].flatMap((handle) =>
      [fileServerIn(route, handle)?.root, ...errorRootsIn(route, handle)].filter((root) => root != null),
    ),
  );

/**
 * The directories that sites serve files from. Controllers can't check them, since the files are on the data plane's machine, so it checks
 * them again and again.
 */
export class FileRoots {
  private readonly bySite = new Map<string, ReadonlySet<string>>();
  /** A problem of a directory. */
  private troubles: ReadonlyMap<string, string> = new Map();
  /** The directory that is being looked at; `since` on the monotonic clock. */
  private present: { readonly root: string; readonly since: number } | null = null;
  private readonly clock: Clock;
  private checking: Promise<void> | null = null;
  /** The check that begins once the current one is over. */
  private following: Promise<void> | null = null;

  constructor(table: Pick<LiveTable, 'list' | 'find' | 'onChange'>, clock: Clock) {
    this.clock = clock;
    for (const owned of table.list()) this.note(owned);
    table.onChange(({ added, changed, removed }) => {
      let touched = false;
      for (const domain of [...removed, ...changed]) touched = this.bySite.delete(domain) || touched;
      for (const domain of [...added, ...changed]) {
        const owned = table.find(domain);
        if (owned !== undefined) touched = this.note(owned) || touched;
      }
      if (touched) void this.check();
    });
    clock.every(CHECK_MS, () => void this.check());
    void this.check();
  }

  /** @returns whether the site serves files. */
  private note(owned: OwnedRoute): boolean {
    if (!owned.needsSetup) return false;
    const { route } = owned;
    const roots = rootsOf(route);
    if (roots.size > 0) this.bySite.set(route.domain, roots);
    return roots.size > 0;
  }

  /**
   * Checks all directories, one after the other, so that a disk that hangs occupies one thread of the pool. Resolves after a check that
   * began no earlier than this call.
   */
  check(): Promise<void> {
    if (this.checking !== null) {
      this.following ??= this.checking.then(() => {
        this.following = null;
        return this.check();
      });
      return this.following;
    }
    this.checking = this.checkAll().finally(() => {
      this.checking = null;
    });
    return this.checking;
  }

  private async checkAll(): Promise<void> {
    if (this.bySite.size === 0 && this.troubles.size === 0) return;
    const troubles = new Map<string, string>();
    for (const root of new Set([...this.bySite.values()].flatMap((roots) => [...roots]))) {
      this.present = { root, since: this.clock.monotonic() };
      const trouble = await troubleOf(root);
      this.present = null;
      if (trouble !== null) troubles.set(root, trouble);
    }
    this.troubles = troubles;
  }

  private hanging(): (readonly [root: string, trouble: string])[] {
    const { present } = this;
    if (present === null || this.clock.monotonic() - present.since < CHECK_MS || this.troubles.has(present.root)) return [];
    return [[present.root, 'does not respond']];
  }

  /** The problems of the directories of sites. */
  warnings(): string[] {
    const sites = (root: string): string[] => [...this.bySite].filter(([, roots]) => roots.has(root)).map(([domain]) => domain);
    return [...this.troubles, ...this.hanging()].slice(0, MAX_NAMED).flatMap(([root, trouble]) => {
      const domains = sites(root);
      return domains.length === 0 ? [] : [`${root} ${trouble}, but ${named(domains, ['serves', 'serve'])} files from there`];
    });
  }
}

/** The problem of a directory from which files are served; null if there is none. */
async function troubleOf(root: string): Promise<string | null> {
  try {
    if (!(await stat(root)).isDirectory()) return 'is not a directory';
    await access(root, constants.X_OK);
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return 'does not exist';
    if (code === 'ENOTDIR') return 'is below something that is not a directory';
    return code === 'EACCES' ? `can't be read by ${PROCESS_USER}` : `can't be read (${code})`;
  }
}

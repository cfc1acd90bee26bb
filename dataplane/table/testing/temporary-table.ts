import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RouteInput, type RouteSpec, readRoute } from '../../../shared/route.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import type { Apply } from '../../../shared/wire/apply.ts';
import type { Publisher, StateChange } from '../../publish/publisher.ts';
import { type Restored, restore } from '../disk/restore.ts';
import { LiveTable } from '../live-table.ts';
import type { Frame } from '../table.ts';
import { initialRoutes } from '../unconfirmed/published-routes.ts';

/** A publisher that records what visitors would be served. */
export class ServedRoutes implements Publisher {
  generation = 1;
  readonly served = new Map<string, string>();

  publish({ routes }: StateChange): Promise<number> {
    if (routes?.whole) this.served.clear();
    for (const domain of routes?.removed ?? []) this.served.delete(domain);
    for (const { domain, json } of routes?.upserts ?? []) this.served.set(domain, json);
    return Promise.resolve(++this.generation);
  }
}

/** A real table in a temporary folder. */
export class TemporaryTable {
  readonly folder: string;
  readonly log = memoryLog();
  publisher = new ServedRoutes();
  private open: LiveTable | null = null;

  get table(): LiveTable {
    if (this.open === null) throw new Error('the table is not open');
    return this.open;
  }

  /** Uses a new folder if none is given. */
  constructor(folder = mkdtempSync(join(tmpdir(), 'sluice-table-'))) {
    this.folder = folder;
  }

  static async start(folder?: string): Promise<TemporaryTable> {
    const fixture = new TemporaryTable(folder);
    await fixture.restart();
    return fixture;
  }

  /** Closes the table and opens it again from disk. `unwritable` as in `restore`. */
  async restart(unwritable: string | null = null): Promise<void> {
    this.close();
    this.publisher = new ServedRoutes();
    const restored = await restore(this.folder, systemClock, this.log, { boot: null, takenOver: false, unwritable });
    this.open = new LiveTable({ restored, publisher: this.publisher, clock: systemClock, random: systemRandom });
  }

  /** Another process takes the table over. @returns what it has restored. */
  async takeOver(staying: ReadonlySet<string> = new Set()): Promise<Restored> {
    await this.table.release(staying);
    const restored = await restore(this.folder, systemClock, this.log, { boot: null, takenOver: true });
    this.close();
    this.publisher = new ServedRoutes();
    await this.publisher.publish({ routes: initialRoutes(restored) });
    this.open = new LiveTable({ restored, publisher: this.publisher, clock: systemClock, random: systemRandom });
    return restored;
  }

  close(): void {
    this.open?.close();
    this.open = null;
  }

  /** `domain upstream controller` of every visible route. */
  visible(): string[] {
    return this.table.list().map(({ route, controller }) => `${route.domain} ${route.upstream} ${controller ?? 'hand'}`);
  }

  [Symbol.dispose](): void {
    this.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function routeOf(domain: string, upstream = 'up:1', more: Partial<RouteInput> = {}): RouteSpec {
  const result = readRoute({ domain, upstream, tls: false, ...more });
  if ('problem' in result) throw new Error(`${result.problem.member}: ${result.problem.reason}`);
  return result.route;
}

/** A frame of the controller `c` for its source `file`, unless the header says otherwise. */
export function frameOf(header: Partial<Apply>, routes: readonly RouteSpec[], more: Partial<Frame> = {}): Frame {
  const full = { controller: 'c', epoch: 1, revision: 1, based_on: null, sources: ['file'], reload: false, ...header };
  return { header: full, routes, rejected: [], removes: [], problems: [], ...more };
}

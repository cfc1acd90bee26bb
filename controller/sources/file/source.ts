import { stat } from 'node:fs/promises';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Problem } from '../../../shared/wire/apply.ts';
import type { Snapshot, Source } from '../source.ts';
import { type Compiled, compileFile } from './compile.ts';
import { type Diagnostic, formatDiagnostic } from './diagnostics.ts';
import { isMissing } from './read.ts';
import { createSettle } from './settle.ts';
import { FILE_SOURCE } from './site.ts';
import type { Environment } from './variables.ts';
import { watchPath } from './watch.ts';

/** How often the file is looked at where no notification came. Milliseconds. */
export const POLL_MS = 2_000;
/** A file may be gone this long while it is replaced. Milliseconds. */
export const MISSING_MS = 2_000;

/** How often a file that changes while it is read is read again for someone who waits. */
const MOST_READS = 5;

export type FileSource = Source & {
  /**
   * Reads the file now, changed or not, because someone asked. The snapshot is emitted, while `run` runs,
   * before this resolves with it. A file that is missing has failed at once.
   */
  reload(): Promise<Snapshot>;
};

/**
 * A config file as a source of routes and globals. `path` is used as given in origins and messages; `env`
 * resolves `{$NAME}` (default: that of the process).
 */
export function createFileSource(options: { path: string; clock: Clock; log: Log; env?: Environment }): FileSource {
  const { path, clock, log, env = process.env } = options;
  let tell: ((snapshot: Snapshot) => void) | undefined;
  /** The file that the newest snapshot was made of; undefined before the first. */
  let told: string | undefined;
  let missingSince: number | undefined;

  /** `steady`: the file was not changed while it was read. */
  const read = async (identity: string): Promise<{ snapshot: Snapshot; steady: boolean }> => {
    const snapshot = snapshotOf(await compileFile(path, env), clock);
    return { snapshot, steady: (await identityOf(path)) === identity };
  };
  const conclude = (identity: string, snapshot: Snapshot) => {
    if (!tell) return;
    told = identity;
    announce(log, path, snapshot);
    tell(snapshot);
  };

  const reload = async (): Promise<Snapshot> => {
    for (let attempt = 1; ; attempt++) {
      const identity = await identityOf(path);
      const { snapshot, steady } = await read(identity);
      if (!steady && attempt < MOST_READS) continue;
      conclude(identity, snapshot);
      return snapshot;
    }
  };

  /** Whether a file that is gone is only being replaced; then it is looked at again in time. The first look does not wait. */
  const isMissingForAMoment = (identity: string, again: () => void): boolean => {
    missingSince = identity === MISSING ? (missingSince ?? clock.monotonic()) : undefined;
    if (missingSince === undefined || told === undefined) return false;
    const left = missingSince + MISSING_MS - clock.monotonic();
    if (left > 0) clock.after(left, again);
    return left > 0;
  };

  const run = async (signal: AbortSignal, emit: (snapshot: Snapshot) => void): Promise<void> => {
    const look = async () => {
      await watch.refresh();
      const identity = await identityOf(path);
      if (identity === told || isMissingForAMoment(identity, settle.poke)) return;
      const { snapshot, steady } = await read(identity);
      if (steady) conclude(identity, snapshot);
      else settle.poke();
    };
    const settle = createSettle(clock, () =>
      look().catch((error: unknown) => log.warn({ path, error: String(error) }, 'the config file could not be looked at; trying again')),
    );
    const watch = watchPath(path, log, settle.poke);
    const stopPolling = clock.every(POLL_MS, settle.poke);
    told = undefined;
    tell = emit;
    settle.now();
    await aborted(signal);
    tell = undefined;
    stopPolling();
    settle.stop();
    watch.stop();
  };
  return { name: FILE_SOURCE, run, reload };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

const MISSING = 'missing';

/** Another content has another identity: a rename brings another inode, a write another time of change. */
async function identityOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
  } catch (error) {
    // What can't be looked at is read all the same: the attempt says why.
    return isMissing(error) ? MISSING : `unreadable: ${String(error)}`;
  }
}

function announce(log: Log, path: string, snapshot: Snapshot): void {
  if (snapshot.kind === 'listed')
    log.info({ path, sites: snapshot.routes.length, warnings: snapshot.problems.length }, 'the config file was read');
  else log.error({ path, errors: snapshot.errors.slice(0, 20) }, 'the config file has errors; what it said before stays');
}

function snapshotOf(compiled: Compiled, clock: Clock): Snapshot {
  if (!compiled.ok) return { kind: 'failed', source: FILE_SOURCE, errors: compiled.diagnostics.map(formatDiagnostic) };
  const since = new Date(clock.now()).toISOString();
  const problems = compiled.warnings.map((warning) => problemOf(warning, since));
  return { kind: 'listed', source: FILE_SOURCE, routes: compiled.routes, settings: compiled.globals, problems };
}

function problemOf(warning: Diagnostic, since: string): Problem {
  const origin = warning.place === null ? warning.path : `${warning.path}:${warning.place.line}`;
  return { source: FILE_SOURCE, origin, domain: null, code: 'config_warning', message: warning.message, since };
}

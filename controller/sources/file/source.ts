import { isDeepStrictEqual } from 'node:util';
import { aborted } from '../../../shared/runtime/aborted.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Reading, Snapshot, Source, UndatedProblem } from '../source.ts';
import { createTransitionTimes, type UndatedReading } from '../transition-times.ts';
import { type Compiled, compileFile } from './compile.ts';
import { type Diagnostic, formatDiagnostic } from './diagnostics/diagnostics.ts';
import { FILE_SOURCE } from './sites/site.ts';
import { SLOW_MS, WHY_SLOW } from './text/read.ts';
import type { Environment } from './variables/read-context.ts';
import { createDebounce } from './watching/debounce.ts';
import { areSame, COARSE_MS, type FoundFiles, lacks, mayHideChanges, wereSteady } from './watching/found-files.ts';
import { createPatience, mayBeIncomplete } from './watching/incomplete.ts';
import { trace } from './watching/trace.ts';
import { type Watch, watchDirectories } from './watching/watch.ts';

/** How often the files are checked without a notification (ms). */
export const POLL_MS = 2_000;
/** How long a file may be missing while it is replaced (ms). */
export const MISSING_MS = 2_000;

/** How often a file that changes during a read is read again for a waiting reload. */
const MAX_READS = 5;

export type FileSource = Source & Required<Pick<Source, 'reload'>>;

/**
 * A config file and its imports as a source of routes and globals. `path` is used as given in origins and messages; `env` resolves
 * `{$NAME}` (default: the process's environment).
 */
export function createFileSource(options: { path: string; clock: Clock; log: Log; env?: Environment }): FileSource {
  const { path, clock, log, env = process.env } = options;
  let emitSnapshot: ((snapshot: Snapshot) => void) | undefined;
  let watch: Watch | undefined;
  /** The file and all its imports. */
  let inputs: readonly string[] = [path];
  /** The inputs of the latest snapshot; undefined before the first. */
  let reported: FoundFiles | undefined;
  let missingSince: number | undefined;
  let cancelLook: () => void = () => undefined;
  let cancelSecondLook: () => void = () => undefined;
  let stopWaiting: () => void = () => undefined;
  let latest: Snapshot | undefined;
  /** The inputs of the latest version without errors. */
  let listed: FoundFiles | undefined;
  const patience = createPatience(clock);
  let reading: Promise<unknown> = Promise.resolve();
  const withTransitionTimes = createTransitionTimes(clock);
  let readings: readonly Reading[] = [];

  const findFiles = (): FoundFiles => {
    const { found, directories } = trace(inputs);
    watch?.use(directories);
    return found;
  };
  /** `after` is undefined if an input changed during the read. */
  const read = async (before: FoundFiles): Promise<{ snapshot: Snapshot; after: FoundFiles | undefined }> => {
    const startedAt = clock.now();
    if (emitSnapshot) stopWaiting = clock.after(SLOW_MS, () => log.warn({ path, reason: WHY_SLOW }, 'waiting for the config file'));
    const compiled = await compileFile(path, env).finally(() => stopWaiting());
    inputs = [...new Set(compiled.inputs)];
    const after = findFiles();
    return { snapshot: snapshotOf(compiled), after: wereSteady(before, after, startedAt) ? after : undefined };
  };
  const conclude = (seen: FoundFiles, snapshot: Snapshot) => {
    if (!emitSnapshot) return;
    reported = seen;
    latest = snapshot;
    if (snapshot.kind === 'listed') listed = seen;
    patience.end();
    cancelSecondLook();
    if (mayHideChanges(seen, clock.now())) cancelSecondLook = clock.after(COARSE_MS, () => void inTurn(lookAgain).catch(failed));
    readings = withTransitionTimes([readingOf(path, snapshot, readings[0]?.domains ?? [])]);
    announce(log, path, snapshot);
    emitSnapshot(snapshot);
  };

  /** One read after the other: what a reload has read is not new when a notification of the same change arrives. */
  const inTurn = <T>(act: () => Promise<T>): Promise<T> => {
    const done = reading.then(act);
    reading = done.catch(() => undefined);
    return done;
  };

  /** Reads the file on request, changed or not. A missing one fails at once. */
  const list = async (): Promise<Snapshot> => {
    for (let attempt = 1; ; attempt++) {
      const before = findFiles();
      const { snapshot, after } = await read(before);
      if (after === undefined && attempt < MAX_READS) continue;
      conclude(after ?? before, snapshot);
      return snapshot;
    }
  };

  /** Reads the files although they look unchanged, and reports only a difference. */
  const lookAgain = async (): Promise<void> => {
    const before = findFiles();
    if (reported === undefined || !areSame(before, reported)) return;
    const { snapshot, after } = await read(before);
    if (after !== undefined && !isDeepStrictEqual(snapshot, latest)) conclude(after, snapshot);
  };

  /** Whether a missing file is probably being replaced; then it is checked again later. The first check does not wait. */
  const isMissingForAMoment = (seen: FoundFiles, again: () => void): boolean => {
    missingSince = reported !== undefined && lacks(seen, reported, path) ? (missingSince ?? clock.monotonic()) : undefined;
    if (missingSince === undefined) return false;
    const left = missingSince + MISSING_MS - clock.monotonic();
    cancelLook();
    if (left > 0) cancelLook = clock.after(left, again);
    return left > 0;
  };

  /** Whether the rest of the files is probably still being written; then they are checked again later. */
  const isPerhapsIncomplete = (seen: FoundFiles, snapshot: Snapshot, again: () => void): boolean => {
    if (snapshot.kind === 'failed' || listed === undefined) return false;
    const domains = new Set<string>(snapshot.routes.map(({ domain }) => domain));
    const lost = (readings[0]?.domains ?? []).filter((domain) => !domains.has(domain));
    if (!mayBeIncomplete(seen, listed, path, lost.length > 0)) return false;
    const { left, isNew } = patience.with(seen);
    cancelLook();
    if (left <= 0) return false;
    cancelLook = clock.after(left, again);
    if (isNew) log.info({ path, lost: lost.slice(0, 20) }, 'the config file may be incomplete: it is applied once nothing more is written');
    return true;
  };

  const failed = (error: unknown) => log.warn({ path, error: String(error) }, 'the config file could not be checked; trying again');

  const run = async (signal: AbortSignal, emit: (snapshot: Snapshot) => void): Promise<void> => {
    const readIfChanged = async () => {
      const seen = findFiles();
      if ((reported !== undefined && areSame(seen, reported)) || isMissingForAMoment(seen, check.trigger)) return;
      const { snapshot, after } = await read(seen);
      if (after === undefined) check.trigger();
      else if (!isPerhapsIncomplete(after, snapshot, check.trigger)) conclude(after, snapshot);
    };
    const check = createDebounce(clock, () => inTurn(readIfChanged).catch(failed));
    watch = watchDirectories(path, log, check.trigger);
    const stopPolling = clock.every(POLL_MS, check.trigger);
    reported = undefined;
    emitSnapshot = emit;
    check.now();
    await aborted(signal);
    emitSnapshot = undefined;
    stopPolling();
    cancelLook();
    cancelSecondLook();
    stopWaiting();
    check.stop();
    watch.stop();
    watch = undefined;
  };
  return {
    name: FILE_SOURCE,
    run,
    relist: () => void inTurn(list).catch(failed),
    reload: async () => {
      const snapshot = await inTurn(list);
      if (snapshot.kind === 'failed')
        log.error({ config: path, errors: snapshot.errors.slice(0, 20) }, 'the reload failed; the previous configuration stays in effect');
      return snapshot;
    },
    readings: () => readings,
  };
}

function announce(log: Log, path: string, snapshot: Snapshot): void {
  if (snapshot.kind === 'listed')
    log.info({ path, sites: snapshot.routes.length, warnings: snapshot.problems.length }, 'the config file was read');
  else log.error({ path, errors: snapshot.errors.slice(0, 20) }, 'the config file has errors and was not applied');
}

function snapshotOf(compiled: Compiled): Snapshot {
  if (!compiled.ok) return { kind: 'failed', source: FILE_SOURCE, errors: compiled.diagnostics.map(formatDiagnostic) };
  const { routes, certificates, globals: settings } = compiled;
  return { kind: 'listed', source: FILE_SOURCE, routes, certificates, settings, problems: compiled.warnings.map(problemOf) };
}

function problemOf({ place, path, message }: Diagnostic): UndatedProblem {
  const origin = place === null ? path : `${path}:${place.line}`;
  return { source: FILE_SOURCE, origin, domain: null, code: 'config_warning', message };
}

/** The file as a whole: with any error none of it is applied. `before` are the domains that stay in that case. */
function readingOf(path: string, snapshot: Snapshot, before: readonly string[]): UndatedReading {
  const isListed = snapshot.kind === 'listed';
  return {
    source: FILE_SOURCE,
    kind: 'file',
    id: path,
    name: path,
    origin: path,
    section: null,
    domains: isListed ? snapshot.routes.map(({ domain }) => domain) : before,
    peers: { count: 0, names: [] },
    accepted: { holds: isListed, reason: isListed ? 'it was read' : snapshot.errors.join('; ') },
    resolved: { holds: true, reason: 'its sites name their targets' },
    address: null,
    change: isListed ? null : 'correct the file and save it',
  };
}

import { isDeepStrictEqual } from 'node:util';
import { aborted } from '../../../shared/runtime/aborted.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { createDebounce } from '../../../shared/runtime/debounce.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Reading, Snapshot, Source, UndatedProblem } from '../source.ts';
import { createTransitionTimes, type UndatedReading } from '../transition-times.ts';
import { type Compiled, compileFile } from './compile.ts';
import { type Diagnostic, formatDiagnostic } from './diagnostics/diagnostics.ts';
import { FILE_SOURCE } from './sites/site.ts';
import { SLOW_MS, WHY_SLOW } from './text/read.ts';
import type { Environment } from './variables/read-context.ts';
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

/** Saving a file causes several events. */
const CHECK = { quietMs: 50, maxMs: 200 };

export type FileSourceOptions = {
  /** As given in origins and messages. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
  /** For `{$NAME}`; default: that of the process. */
  readonly env?: Environment;
};

export type FileSource = Source & Required<Pick<Source, 'reload'>>;

/** A config file and its imports as a source of routes and globals. */
export const createFileSource = (options: FileSourceOptions): FileSource => new ConfigFileSource(options);

/** What exists only while the source runs. Without it, only reloads read the files. */
type Run = { readonly emit: (snapshot: Snapshot) => void; readonly watch: Watch };

/**
 * Notifications, polls and reloads lead to the same steps: find the files, read them, see whether nothing changed meanwhile, whether the
 * rest is still to come, and conclude.
 */
class ConfigFileSource implements FileSource {
  readonly name = FILE_SOURCE;
  private readonly path: string;
  private readonly env: Environment;
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly patience: ReturnType<typeof createPatience>;
  private readonly withTransitionTimes: ReturnType<typeof createTransitionTimes>;
  private current: Run | undefined;
  /** The file and all its imports. */
  private inputs: readonly string[];
  /** undefined before the first of this run. */
  private latest: { readonly files: FoundFiles; readonly snapshot: Snapshot } | undefined;
  /** The inputs of the latest version without errors. */
  private listed: FoundFiles | undefined;
  private latestReadings: readonly Reading[] = [];
  private missingSince: number | undefined;
  private cancelLook: () => void = () => undefined;
  private cancelSecondLook: () => void = () => undefined;
  private stopWaiting: () => void = () => undefined;
  private reading: Promise<unknown> = Promise.resolve();

  constructor({ path, clock, log, env = process.env }: FileSourceOptions) {
    this.path = path;
    this.env = env;
    this.clock = clock;
    this.log = log;
    this.inputs = [path];
    this.patience = createPatience(clock);
    this.withTransitionTimes = createTransitionTimes(clock);
  }

  async run(signal: AbortSignal, emit: (snapshot: Snapshot) => void): Promise<void> {
    let isChecking = false;
    const check = (): void => {
      // A read may take long; the files are checked once after it, however often they change during it.
      if (isChecking) return checks.trigger();
      isChecking = true;
      void this.inTurn(() => this.readIfChanged(checks.trigger))
        .catch(this.failed)
        .finally(() => {
          isChecking = false;
        });
    };
    const checks = createDebounce(this.clock, CHECK, check);
    const watch = watchDirectories(this.path, this.log, checks.trigger);
    const stopPolling = this.clock.every(POLL_MS, checks.trigger);
    this.latest = undefined;
    this.current = { emit, watch };
    checks.flush();
    await aborted(signal);
    this.current = undefined;
    stopPolling();
    this.cancelLook();
    this.cancelSecondLook();
    this.stopWaiting();
    checks.stop();
    watch.stop();
  }

  relist(): void {
    void this.inTurn(() => this.list()).catch(this.failed);
  }

  async reload(): Promise<Snapshot> {
    const snapshot = await this.inTurn(() => this.list());
    if (snapshot.kind === 'failed')
      this.log.error(
        { config: this.path, errors: snapshot.errors.slice(0, 20) },
        'the reload failed; the previous configuration stays in effect',
      );
    return snapshot;
  }

  readings(): readonly Reading[] {
    return this.latestReadings;
  }

  /** One read after the other: what a reload has read is not new when a notification of the same change arrives. */
  private inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = this.reading.then(act);
    this.reading = done.catch(() => undefined);
    return done;
  }

  /** `again` has the files checked again soon. */
  private async readIfChanged(again: () => void): Promise<void> {
    const seen = this.findFiles();
    if ((this.latest !== undefined && areSame(seen, this.latest.files)) || this.isMissingForAMoment(seen, again)) return;
    const { snapshot, after } = await this.read(seen);
    if (after === undefined) again();
    else if (!this.isPerhapsIncomplete(after, snapshot, again)) this.conclude(after, snapshot);
  }

  /** Reads the file on request, changed or not. A missing one fails at once. */
  private async list(): Promise<Snapshot> {
    for (let attempt = 1; ; attempt++) {
      const before = this.findFiles();
      const { snapshot, after } = await this.read(before);
      if (after === undefined && attempt < MAX_READS) continue;
      this.conclude(after ?? before, snapshot);
      return snapshot;
    }
  }

  /** Reads the files although they look unchanged, and reports only a difference. */
  private async lookAgain(): Promise<void> {
    const before = this.findFiles();
    if (this.latest === undefined || !areSame(before, this.latest.files)) return;
    const { snapshot, after } = await this.read(before);
    if (after !== undefined && !isDeepStrictEqual(snapshot, this.latest?.snapshot)) this.conclude(after, snapshot);
  }

  private findFiles(): FoundFiles {
    const { found, directories } = trace(this.inputs);
    this.current?.watch.use(directories);
    return found;
  }

  /** `after` is undefined if an input changed during the read. */
  private async read(before: FoundFiles): Promise<{ snapshot: Snapshot; after: FoundFiles | undefined }> {
    const { clock, log, path } = this;
    const startedAt = clock.now();
    if (this.current) this.stopWaiting = clock.after(SLOW_MS, () => log.warn({ path, reason: WHY_SLOW }, 'waiting for the config file'));
    const compiled = await compileFile(path, this.env).finally(() => this.stopWaiting());
    this.inputs = [...new Set(compiled.inputs)];
    const after = this.findFiles();
    return { snapshot: snapshotOf(compiled), after: wereSteady(before, after, startedAt) ? after : undefined };
  }

  /** Whether a missing file is probably being replaced; then it is checked again later. The first check does not wait. */
  private isMissingForAMoment(seen: FoundFiles, again: () => void): boolean {
    const { clock, latest } = this;
    const isMissing = latest !== undefined && lacks(seen, latest.files, this.path);
    this.missingSince = isMissing ? (this.missingSince ?? clock.monotonic()) : undefined;
    if (this.missingSince === undefined) return false;
    const left = this.missingSince + MISSING_MS - clock.monotonic();
    this.cancelLook();
    if (left > 0) this.cancelLook = clock.after(left, again);
    return left > 0;
  }

  /** Whether the rest of the files is probably still being written; then they are checked again later. */
  private isPerhapsIncomplete(seen: FoundFiles, snapshot: Snapshot, again: () => void): boolean {
    const { path, listed } = this;
    if (snapshot.kind === 'failed' || listed === undefined) return false;
    const domains = new Set<string>(snapshot.routes.map(({ domain }) => domain));
    const lost = this.domainsBefore().filter((domain) => !domains.has(domain));
    if (!mayBeIncomplete(seen, listed, path, lost.length > 0)) return false;
    const { left, isNew } = this.patience.with(seen);
    this.cancelLook();
    if (left <= 0) return false;
    this.cancelLook = this.clock.after(left, again);
    if (isNew)
      this.log.info({ path, lost: lost.slice(0, 20) }, 'the config file may be incomplete: it is applied once nothing more is written');
    return true;
  }

  private conclude(files: FoundFiles, snapshot: Snapshot): void {
    const { path, clock, current } = this;
    if (!current) return;
    this.latest = { files, snapshot };
    if (snapshot.kind === 'listed') this.listed = files;
    this.patience.end();
    this.cancelSecondLook();
    if (mayHideChanges(files, clock.now()))
      this.cancelSecondLook = clock.after(COARSE_MS, () => void this.inTurn(() => this.lookAgain()).catch(this.failed));
    this.latestReadings = this.withTransitionTimes([readingOf(path, snapshot, this.domainsBefore())]);
    announce(this.log, path, snapshot);
    current.emit(snapshot);
  }

  private domainsBefore(): readonly string[] {
    return this.latestReadings[0]?.domains ?? [];
  }

  private readonly failed = (error: unknown): void =>
    this.log.warn({ path: this.path, error: String(error) }, 'the config file could not be checked; trying again');
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

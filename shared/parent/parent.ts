import { type Backoff, createBackoff } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ToParent, UpgradeOutcome } from '../runtime/process/parent.ts';
import { HANDED_OVER_EXIT, RESTARTED_VARIABLE } from '../runtime/process/supervised.ts';
import type { Random } from '../runtime/random.ts';
import { STEP_MS, SUCCESSOR_START_MS, type VersionOf } from '../wire/takeover.ts';
import type { Child, ChildEvents, Launch } from './child.ts';
import { crashReason } from './crash-reason.ts';
import type { ServiceManager } from './service-manager.ts';

/** A child that ran for at least this long (ms) resets the backoff. */
const STEADY_MS = 10_000;
/** The exit code of a usage error, such as a port in use. */
const USAGE = 2;
/** Exit codes of an intended exit: SIGTERM during startup, as in a shell, and a completed takeover. */
const AS_TOLD = new Set([143, HANDED_OVER_EXIT]);
/** How long to wait before SIGKILL when told to exit immediately (ms). */
const HURRY_MS = 2_000;
/** How long a process may take to end when the time for its requests is over (ms). Only a disk that does not respond takes longer. */
const END_MS = 30_000;

type ParentOptions = {
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  readonly start: (launch: Launch, events: ChildEvents) => Child;
  readonly manager: ServiceManager;
  /** Writes a log line. */
  readonly report: (fields: object, message: string) => void;
  /**
   * Whether to stay after a process that is not our child has taken over. In a container, exiting would make the engine restart the
   * container, and the new one would conflict with the process that took over.
   */
  readonly staysBehind: boolean;
};

type Managed = {
  readonly child: Child;
  readonly launcher: string;
  readonly startedAt: number;
  /** Its version, once it serves. */
  version: string | null;
  /** Whether files were renamed before. */
  renamed: boolean;
  /** The process that it has handed over to, 0 if it does not say which; null if it has not. */
  successor: number | null;
  /** Whether it finishes its requests, and ends by itself. */
  draining: boolean;
  /** The failure that it reported. */
  reason: string;
};

/**
 * Supervises a command for as long as the service runs: restarts it when it dies, passes signals on, and adopts its successor. The
 * exception is the first start: if the child exits before it ever serves, or soon after with a usage error, the parent exits with its
 * code.
 */
export class Parent {
  private readonly argv: readonly string[];
  private readonly outside: ParentOptions;
  private readonly backoff: Backoff;
  private launcher: string;
  private current: Managed | null = null;
  private next: Managed | null = null;
  /** The process that ended while its successor started. */
  private former: Managed | null = null;
  /** The successor that has just ended before it served. */
  private failure: { readonly next: Managed; readonly code: number } | null = null;
  /** Processes that have handed over and are draining. */
  private readonly leaving = new Set<Managed>();
  private hasServed = false;
  private starts = 0;
  private stops = 0;
  private code = 0;
  private cancelRestart: (() => void) | null = null;
  private end: (code: number) => void = () => undefined;

  constructor({ launcher, argv }: Launch, outside: ParentOptions) {
    this.launcher = launcher;
    this.argv = argv;
    this.outside = outside;
    this.backoff = createBackoff(outside.random);
  }

  /** @returns the exit code once there is nothing left to supervise. */
  run(): Promise<number> {
    return new Promise((resolve) => {
      this.end = resolve;
      this.start();
    });
  }

  /** The first call drains all processes; the second one ends them immediately. */
  stop(): void {
    this.stops += 1;
    if (this.stops === 1) this.outside.manager.stopping('finishing open requests');
    this.cancelRestart?.();
    this.cancelRestart = null;
    this.signalAll('SIGTERM');
    if (this.stops > 1) this.outside.clock.after(HURRY_MS, () => this.signalAll('SIGKILL'));
    this.endIfAlone();
  }

  /**
   * SIGUSR2 also reaches processes that drain, which still log, and those that start, whose workers may log already: when they serve, because
   * it would end one that does not handle it yet. Everything else that is new they have read.
   */
  signal(signal: NodeJS.Signals): void {
    if (typeof this.current?.version === 'string') this.current.child.signal(signal);
    if (signal !== 'SIGUSR2') return;
    for (const { child } of this.leaving) child.signal(signal);
    for (const one of [this.current, this.next]) if (one?.version === null) one.renamed = true;
  }

  private signalAll(signal: NodeJS.Signals): void {
    for (const { child } of this.all()) child.signal(signal);
  }

  private all(): Managed[] {
    return [this.current, this.next, ...this.leaving].filter((one) => one !== null);
  }

  private start(env?: Launch['env']): void {
    this.current = this.launch({ launcher: this.launcher, argv: this.argv, ...(env && { env }) });
  }

  private launch(launch: Launch): Managed {
    this.starts++;
    const { clock, start } = this.outside;
    const child = start(launch, {
      received: (message) => this.receive(kept, message),
      ended: (code) => this.ended(kept, code),
    });
    const kept: Managed = {
      child,
      launcher: launch.launcher,
      startedAt: clock.monotonic(),
      version: null,
      renamed: false,
      successor: null,
      draining: false,
      reason: '',
    };
    return kept;
  }

  private receive(kept: Managed, message: ToParent): void {
    if (message.kind === 'failed') kept.reason ||= message.reason;
    if (message.kind === 'draining') this.drains(kept, message.within);
    if (message.kind === 'handed-over') this.handsOver(kept, message.successor?.pid ?? 0);
    if (message.kind === 'upgrade') this.upgrade(kept, message.launcher);
    if (message.kind === 'serving') this.serves(kept, message.version);
  }

  /** A thread that waits for a disk keeps its process from ending, which is then neither stopped nor gone after an upgrade. */
  private drains(kept: Managed, within: number | undefined): void {
    kept.draining = true;
    if (within === undefined) return;
    const { pid } = kept.child;
    this.outside.clock.after(within + END_MS, () => {
      // A data plane of `run` that has ended may have been restarted.
      if (!this.all().includes(kept) || kept.child.pid !== pid) return;
      this.outside.report({ pid, within: within + END_MS }, 'the process has finished its requests but did not end: it is killed');
      kept.child.signal('SIGKILL');
    });
  }

  private handsOver(kept: Managed, successor: number): void {
    kept.successor = successor;
    const { failure } = this;
    // The end of the successor may have become known before this message.
    if (failure === null || kept !== this.current || this.stops > 0 || successor !== failure.next.child.pid) return;
    this.failure = null;
    this.restartFor(failure.next, failure.code);
  }

  private serves(kept: Managed, version: string): void {
    kept.version = version;
    if (kept.renamed) kept.child.signal('SIGUSR2');
    kept.renamed = false;
    this.hasServed = true;
    if (kept === this.next) {
      const old = this.current;
      this.next = null;
      this.current = kept;
      this.launcher = kept.launcher;
      this.backoff.reset();
      if (old !== null) this.leaving.add(old);
      old?.child.send({ kind: 'upgraded', upgraded: { old: versionOf(old), new: versionOf(kept) } });
    }
    if (this.stops === 0) this.outside.manager.ready(`serving: version ${version}, process ${kept.child.pid}`);
  }

  private upgrade(asking: Managed, launcher: string): void {
    const refusal = this.refusal(asking);
    if (refusal !== null) return asking.child.send(notUpgraded(refusal));
    const { clock, manager } = this.outside;
    manager.reloading('starting the successor');
    this.failure = null;
    const argv = this.argv.includes('--takeover') ? this.argv : [...this.argv, '--takeover'];
    const next = this.launch({ launcher, argv });
    this.next = next;
    clock.after(SUCCESSOR_START_MS, () => {
      if (this.next !== next) return;
      next.reason = `did not serve within ${SUCCESSOR_START_MS / 1_000} s`;
      next.child.signal('SIGTERM');
      clock.after(HURRY_MS, () => (this.next === next && !next.draining ? next.child.signal('SIGKILL') : undefined));
    });
  }

  private refusal(asking: Managed): string | null {
    if (this.stops > 0) return 'it is being stopped';
    if (this.next !== null) return 'another upgrade is under way';
    return asking === this.current ? null : 'another process has already replaced it';
  }

  private ended(kept: Managed, code: number): void {
    if (this.leaving.delete(kept)) return this.endIfAlone(code);
    if (kept === this.next) return this.failed(kept, code);
    this.current = null;
    if (this.stops > 0) return this.endIfAlone(code);
    // Its successor decides what happens next.
    if (this.next !== null) {
      this.former = kept;
      return;
    }
    if (kept.successor !== null) return this.leave(kept.successor);
    if (!this.hasServed || this.neverStarted(kept, code)) return this.end(code);
    this.restart(kept, code);
  }

  /** Whether the first process found a usage error in one of its two parts when the other was already serving. */
  private neverStarted({ startedAt }: Managed, code: number): boolean {
    return code === USAGE && this.starts === 1 && this.outside.clock.monotonic() - startedAt <= STEADY_MS;
  }

  /** Handles a successor that ended before it served. */
  private failed(next: Managed, code: number): void {
    this.next = null;
    const said = next.reason || crashReason(next.child.lastWords);
    const reason = `the new process ended (exit code ${code})${said ? `: ${said}` : ' without an error message'}`;
    this.outside.report({ pid: next.child.pid, code, reason: said }, 'the upgrade failed');
    if (this.stops > 0) return this.endIfAlone(code);
    this.current?.child.send(notUpgraded(reason));
    const successor = (this.current ?? this.former)?.successor ?? 0;
    if (successor !== 0 && successor !== next.child.pid) {
      // Yet another process serves.
      this.outside.manager.ready(`process ${successor} has taken over`);
      return this.current === null ? this.leave(successor) : undefined;
    }
    if (this.current === null || this.current.successor !== null) return this.restartFor(next, code);
    const failure = { next, code };
    this.failure = failure;
    // Later, a process with its number is another one, perhaps in another container.
    this.outside.clock.after(STEP_MS, () => {
      if (this.failure === failure) this.failure = null;
    });
    this.outside.manager.ready(`serving: version ${this.current.version}; the last upgrade failed`);
  }

  /** Replaces a successor that ended after the takeover: the old process, if it still lives, only drains, and nobody serves. */
  private restartFor(next: Managed, code: number): void {
    if (this.current !== null) this.leaving.add(this.current);
    this.current = null;
    this.restart(next, code);
  }

  private restart({ startedAt, child, reason }: Managed, code: number): void {
    const { clock, report, manager } = this.outside;
    if (clock.monotonic() - startedAt > STEADY_MS) this.backoff.reset();
    const wait = this.backoff.next();
    report({ pid: child.pid, code, ...(reason && { reason }), restart_in_ms: wait }, 'the process exited and is being restarted');
    manager.ready(`the process ended (exit code ${code}) and is being restarted`);
    this.cancelRestart = clock.after(wait, () => {
      this.cancelRestart = null;
      this.start({ [RESTARTED_VARIABLE]: '1' });
    });
  }

  /** Handles a takeover by a process that is not our child. */
  private leave(successor: number): void {
    if (!this.outside.staysBehind) return this.end(0);
    this.outside.report(successor === 0 ? {} : { successor }, 'another process has taken over; this container is idle and can be stopped');
  }

  /** Exits if stopping and no process is left. */
  private endIfAlone(code = 0): void {
    if (this.stops === 0) return;
    if (!AS_TOLD.has(code)) this.code = Math.max(this.code, code);
    if (this.all().length === 0) this.end(this.code);
  }
}

const versionOf = ({ version, child: { pid } }: Managed): VersionOf => ({ version: version ?? 'unknown', pid });

const notUpgraded = (reason: string): UpgradeOutcome => ({ kind: 'not-upgraded', reason });

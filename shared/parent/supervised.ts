import { type Backoff, createBackoff } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ToParent, UpgradeOutcome } from '../runtime/process/parent.ts';
import { HANDED_OVER_EXIT } from '../runtime/process/supervised.ts';
import type { Random } from '../runtime/random.ts';
import type { Child, ChildEvents, Launch } from './child.ts';

/** A process that ran for this long (ms) resets the backoff: its next restart is immediate. */
const STEADY_MS = 10_000;
/** A process that has run for this long (ms) handles signals, whether or not it reports that it serves: older versions don't. */
const READY_MS = 10_000;
const USAGE_EXIT = 2;
/** The exit code reported for a process that ended with 0 before it ever served. */
const NEVER_SERVED = 1;

export type ProcessSpec = {
  readonly name: string;
  /** How it is started next. */
  readonly launch: () => Launch;
  /** Prepares the next start while the process waits to be restarted. */
  readonly prepare?: () => Promise<void>;
  /** Whether a failed first start is retried, because an obstacle may disappear. */
  readonly persistent?: boolean;
  /** Whether it reports when it serves. If its first start fails before that, it is not retried, since the next would fail too. */
  readonly mustServe?: boolean;
  /** How long it may take to exit when it is asked to (ms); any time if absent. */
  readonly stopMs?: number;
  /** Called with each of its messages. */
  readonly received?: (message: ToParent) => void;
};

export type SupervisedTools = {
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  readonly start: (launch: Launch, events: ChildEvents) => Child;
  /** Writes a log line. */
  readonly report: (fields: object, message: string) => void;
};

/** Keeps one process of a pair running until it is stopped. */
export class Supervised {
  private readonly spec: ProcessSpec;
  private readonly tools: SupervisedTools;
  private readonly backoff: Backoff;
  private child: Child | null = null;
  private lastPid = 0;
  private stopping = false;
  /** Whether the process that runs has reported that it serves. */
  private served = false;
  /** Whether it handles signals. */
  private ready = false;
  /** Whether it has requested an upgrade whose outcome it does not know. */
  private asks = false;
  /** What it is sent once it does. */
  private missed: NodeJS.Signals | null = null;
  private cancelRestart: () => void = () => undefined;
  /** The last output of its first start, if that failed. */
  lastWords = '';

  constructor(spec: ProcessSpec, tools: SupervisedTools) {
    this.spec = spec;
    this.tools = tools;
    this.backoff = createBackoff(tools.random);
  }

  /** Also after it has ended, until it is started again. 0 before its first start. */
  get pid(): number {
    return this.child?.pid ?? this.lastPid;
  }

  /** @returns its exit code if its first start failed, and never 0 then; 0 after it was stopped or replaced by another process. */
  async run(): Promise<number> {
    const { clock, report } = this.tools;
    for (let starts = 1; !this.stopping; starts++) {
      const startedAt = clock.monotonic();
      const code = await this.once();
      if (this.stopping || code === HANDED_OVER_EXIT) break;
      if (starts === 1 && this.isFinal(code)) return code || NEVER_SERVED;
      if (clock.monotonic() - startedAt > STEADY_MS) this.backoff.reset();
      const wait = this.backoff.next();
      report({ child: this.spec.name, code, restart_in_ms: wait }, `the ${this.spec.name} exited and is being restarted`);
      await Promise.all([this.pause(wait), this.spec.prepare?.()]);
    }
    return 0;
  }

  /** Asks the process to exit, and does not restart it. */
  stop(): void {
    this.retire();
    this.signal('SIGTERM');
    const { child, spec, tools } = this;
    if (spec.stopMs === undefined || child === null) return;
    tools.clock.after(spec.stopMs, () => {
      if (this.child !== child) return;
      tools.report({ child: spec.name, within: spec.stopMs }, `the ${spec.name} did not exit in time and is killed`);
      child.signal('SIGKILL');
    });
  }

  /** Does not restart the process when it exits. */
  retire(): void {
    this.stopping = true;
    this.cancelRestart();
  }

  /** Another process serves in its place: a process that does not serve yet is not needed; one that does is left to drain. */
  replaced(): void {
    this.retire();
    if (!this.served) this.signal('SIGTERM');
  }

  /** Passes on an outcome, unless the process that asked has ended: the next one would take it for that of its own request. */
  send(outcome: UpgradeOutcome): void {
    if (!this.asks) return;
    this.asks = false;
    this.child?.send(outcome);
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.signal(signal);
  }

  /** Once it handles the signal, which would end it before. */
  signalReady(signal: NodeJS.Signals): void {
    if (this.ready) this.signal(signal);
    else this.missed = signal;
  }

  private becomeReady(): void {
    this.ready = true;
    if (this.missed !== null) this.signal(this.missed);
    this.missed = null;
  }

  private once(): Promise<number> {
    this.served = false;
    this.ready = false;
    this.asks = false;
    this.missed = null;
    const cancel = this.tools.clock.after(READY_MS, () => this.becomeReady());
    return new Promise((resolve) => {
      const child = this.tools.start(this.spec.launch(), {
        received: (message) => {
          if (message.kind === 'serving') {
            this.served = true;
            this.becomeReady();
          }
          if (message.kind === 'upgrade') this.asks = true;
          this.spec.received?.(message);
        },
        ended: (code) => {
          cancel();
          this.lastWords = child.lastWords;
          this.lastPid = child.pid;
          this.child = null;
          resolve(code);
        },
      });
      this.child = child;
    });
  }

  private isFinal(code: number): boolean {
    if (this.spec.mustServe) return !this.served;
    return code === USAGE_EXIT && !this.spec.persistent;
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.tools.clock.after(ms, resolve);
      this.cancelRestart = () => {
        cancel();
        resolve();
      };
    });
  }
}

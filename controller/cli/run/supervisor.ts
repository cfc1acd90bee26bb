import { type ChildProcess, spawn } from 'node:child_process';
import { createBackoff } from '../../../shared/runtime/backoff.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import { isToParent, type ToParent, type UpgradeOutcome } from '../../../shared/runtime/parent.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { HANDED_OVER_EXIT, SUPERVISED_VARIABLE } from '../../../shared/runtime/supervised.ts';
import { exitOf } from './processes.ts';

/** A process that ran for this long (ms) resets the backoff: its next restart is immediate. */
const STEADY_MS = 10_000;
const USAGE_EXIT = 2;

export type ChildSpec = {
  readonly name: string;
  /** The script and its arguments, run with this process's own Node. */
  readonly argv: readonly string[];
  /** Called before each start. */
  readonly env: () => Promise<Readonly<Record<string, string>>>;
  /** Whether a failed first start is retried, because an obstacle may disappear. */
  readonly persistent?: boolean;
  /** Whether it reports when it serves. If its first start fails before that, it is not retried, since the next would fail too. */
  readonly mustServe?: boolean;
  /** Called with each of its messages. */
  readonly heard?: (message: ToParent) => void;
};

/** Keeps one child process running until it is stopped. */
export class Supervised {
  private readonly spec: ChildSpec;
  private readonly parts: { clock: Clock; random: Random; log: Log; err: (text: string) => void };
  private child: ChildProcess | undefined;
  private stopping = false;
  private served = false;
  private cancelRestart: () => void = () => undefined;

  constructor(spec: ChildSpec, parts: { clock: Clock; random: Random; log: Log; err: (text: string) => void }) {
    this.spec = spec;
    this.parts = parts;
  }

  /** @returns its exit code if its first start failed, 0 after it was stopped or replaced by another process. */
  async run(): Promise<number> {
    const { clock, log } = this.parts;
    const backoff = createBackoff(this.parts.random);
    for (let starts = 1; !this.stopping; starts++) {
      const startedAt = clock.monotonic();
      const code = await this.once();
      if (this.stopping || code === HANDED_OVER_EXIT) break;
      if (starts === 1 && this.isFinal(code)) return code;
      if (clock.monotonic() - startedAt > STEADY_MS) backoff.reset();
      const wait = backoff.next();
      log.error({ child: this.spec.name, code, restart_in_ms: wait }, `the ${this.spec.name} exited and is being restarted`);
      await this.pause(wait);
    }
    return 0;
  }

  /** Asks the child to exit, and does not restart it. */
  stop(): void {
    this.retire();
    this.signal('SIGTERM');
  }

  /** Does not restart the child when it exits. */
  retire(): void {
    this.stopping = true;
    this.cancelRestart();
  }

  /** Passes on a message from a parent. */
  send(outcome: UpgradeOutcome): void {
    // A child that has exited in the meantime needs no response.
    if (this.child?.connected) this.child.send(outcome, undefined, undefined, () => undefined);
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /**
   * stdin is a pipe whose other end closes with this process, however it dies. The child has its own session, so Ctrl-C in the terminal
   * reaches only the supervisor, which passes it on once.
   */
  private async once(): Promise<number> {
    const env = { ...process.env, ...(await this.spec.env()), [SUPERVISED_VARIABLE]: '1' };
    if (this.stopping) return 0;
    const child = spawn(process.execPath, this.spec.argv, { stdio: ['pipe', 'inherit', 'pipe', 'ipc'], detached: true, env });
    this.child = child;
    // A dying child closes its end first; the exit event follows.
    child.stdin?.on('error', () => undefined);
    child.stderr?.setEncoding('utf8').on('data', (text: string) => this.parts.err(text));
    child.on('message', (message) => {
      if (!isToParent(message)) return;
      if (message.kind === 'serving') this.served = true;
      this.spec.heard?.(message);
    });
    const code = await exitOf(child);
    this.child = undefined;
    return code;
  }

  private isFinal(code: number): boolean {
    if (this.spec.mustServe) return !this.served;
    return code === USAGE_EXIT && !this.spec.persistent;
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.parts.clock.after(ms, resolve);
      this.cancelRestart = () => {
        cancel();
        resolve();
      };
    });
  }
}

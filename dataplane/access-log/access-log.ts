import type { Clock } from '../../shared/runtime/clock.ts';
import { sleep } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import { startThread, type Thread } from '../../shared/runtime/start-thread.ts';
import { LineRings } from '../ledger/line-ring.ts';
import type { OutputReport } from './log-writer.ts';

export type ToLogThread = { readonly kind: 'reopen' | 'end' };
export type FromLogThread = { readonly kind: 'reopened' } | { readonly kind: 'ended' } | ({ readonly kind: 'output' } & OutputReport);

/** How often lost lines are looked for, and at most how often they are logged (ms). */
const COUNT_MS = 10_000;
const LOST_MS = 60_000;
/** How long the last lines may take when the process ends (ms). */
const END_MS = 2_000;
const RESTART_MS = 1_000;

/** The TypeScript source in the repository, the compiled file in `dist/`. */
const ENTRY = new URL(`./log-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

type AccessLogTools = { readonly clock: Clock; readonly log: Log };

/** The access log as the main thread sees it: starts the thread that writes it when a worker has a line, and reports failures. */
export class AccessLog {
  private readonly buffer: SharedArrayBuffer;
  private readonly rings: LineRings;
  private readonly tools: AccessLogTools;
  private readonly failures = new Map<string, string>();
  private thread: Thread | null = null;
  private ending = false;
  private ended: () => void = () => undefined;
  private stopCounting: () => void = () => undefined;
  private lostReported = 0;
  private reportedAt = Number.NEGATIVE_INFINITY;

  constructor(buffer: SharedArrayBuffer, tools: AccessLogTools) {
    this.buffer = buffer;
    this.rings = new LineRings(buffer);
    this.tools = tools;
  }

  /** Starts writing, if that has not begun. */
  start(): void {
    if (this.thread !== null || this.ending) return;
    const thread = startThread(ENTRY, { workerData: this.buffer });
    thread.unref();
    this.thread = thread;
    let fault = '';
    thread.on('message', (message: FromLogThread) => this.receive(message));
    thread.on('error', (error) => {
      fault = error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    thread.on('exit', () => this.exited(fault));
    this.stopCounting();
    this.stopCounting = this.tools.clock.every(COUNT_MS, () => this.count());
  }

  /** Begins new files in place of those that were renamed. */
  reopen(): void {
    this.post({ kind: 'reopen' });
  }

  /** Writes the remaining lines of the workers; call it when they have ended. */
  async end(): Promise<void> {
    this.ending = true;
    this.stopCounting();
    if (this.thread !== null) {
      const ended = new Promise<void>((resolve) => {
        this.ended = resolve;
      });
      this.post({ kind: 'end' });
      await Promise.race([ended, sleep(this.tools.clock, END_MS)]);
    }
    this.reportedAt = Number.NEGATIVE_INFINITY;
    this.count();
  }

  /** What can't be written, one line each. */
  get warnings(): string[] {
    return [...this.failures].map(([output, failure]) => `the access log ${output} can't be written: ${failure}`);
  }

  /** Lines that were lost since the process started. */
  get lost(): number {
    return this.rings.lost();
  }

  private post(message: ToLogThread): void {
    this.thread?.postMessage(message);
  }

  private receive(message: FromLogThread): void {
    const { log } = this.tools;
    if (message.kind === 'ended') return this.ended();
    if (message.kind === 'reopened') return log.info('the access log was reopened');
    const output = message.output || 'on stdout';
    if (message.failure === null) {
      this.failures.delete(output);
      log.info({ output }, 'the access log can be written again');
    } else {
      this.failures.set(output, message.failure);
      log.warn({ output, error: message.failure }, "the access log can't be written");
    }
  }

  private exited(fault: string): void {
    this.thread = null;
    this.failures.clear();
    if (this.ending) return this.ended();
    this.tools.log.error({ error: fault }, 'the thread of the access log ended and is being restarted');
    this.tools.clock.after(RESTART_MS, () => this.start());
  }

  private count(): void {
    const { clock, log } = this.tools;
    const { lost } = this;
    if (lost === this.lostReported || clock.monotonic() - this.reportedAt < LOST_MS) return;
    log.warn({ lost: lost - this.lostReported }, 'lines of the access log were lost: its output is slower than the traffic, or fails');
    this.lostReported = lost;
    this.reportedAt = clock.monotonic();
  }
}

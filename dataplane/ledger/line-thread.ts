import { type Clock, sleep } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import { startThread, type Thread } from '../../shared/runtime/start-thread.ts';
import { LineRings } from './line-ring.ts';

/** How often lost lines are looked for, and at most how often they are logged (ms). */
const COUNT_MS = 10_000;
const LOST_MS = 60_000;
/** How long the last lines may take when the process ends (ms). */
const END_MS = 2_000;
const RESTART_MS = 1_000;

/** From the thread: it was told to end, and no more lines can be saved. */
export type LinesEnded = { readonly kind: 'ended' };

export type LineThreadOptions<Message> = {
  readonly clock: Clock;
  readonly log: Log;
  /** The script of the thread, and what it gets. */
  readonly entry: URL;
  readonly workerData: unknown;
  /** The rings that it empties. */
  readonly lines: SharedArrayBuffer;
  receive(message: Message): void;
  /** It has ended, so what it said about itself is not true any more. */
  exited(): void;
  /** Messages for the log. */
  readonly restarted: string;
  readonly lost: string;
  /** Fields for the message about lost lines. */
  whyLost?(): object;
};

/** A thread that empties the rings of all workers, as the main thread sees it. If it fails, it is started again. */
export class LineThread<Sent extends object, Message extends { readonly kind: string }> {
  private readonly options: LineThreadOptions<Message>;
  private readonly rings: LineRings;
  private thread: Thread | null = null;
  private ending = false;
  private ended: () => void = () => undefined;
  private stopCounting: () => void = () => undefined;
  private lostReported = 0;
  private reportedAt = Number.NEGATIVE_INFINITY;

  constructor(options: LineThreadOptions<Message>) {
    this.options = options;
    this.rings = new LineRings(options.lines);
  }

  /** Starts it, if it does not run. */
  start(): void {
    if (this.thread !== null || this.ending) return;
    const { entry, workerData, clock } = this.options;
    const thread = startThread(entry, { workerData });
    thread.unref();
    this.thread = thread;
    let fault = '';
    thread.on('message', (message: Message | LinesEnded) => {
      if (isEnded(message)) this.ended();
      else this.options.receive(message);
    });
    thread.on('error', (error) => {
      fault = error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    thread.on('exit', () => this.exited(fault));
    this.stopCounting();
    this.stopCounting = clock.every(COUNT_MS, () => this.count());
  }

  /** Sends it a message, if it runs. */
  post(message: Sent): void {
    this.thread?.postMessage(message);
  }

  /** Sends it `last`, at which it takes the remaining lines and ends; call it when the workers have ended. */
  async end(last: Sent): Promise<void> {
    this.ending = true;
    this.stopCounting();
    if (this.thread !== null) {
      const ended = new Promise<void>((resolve) => {
        this.ended = resolve;
      });
      this.post(last);
      await Promise.race([ended, sleep(this.options.clock, END_MS)]);
    }
    this.reportedAt = Number.NEGATIVE_INFINITY;
    this.count();
  }

  /** Lines that were lost since the process started. */
  get lost(): number {
    return this.rings.lost();
  }

  private exited(fault: string): void {
    const { clock, log, restarted } = this.options;
    this.thread = null;
    this.options.exited();
    if (this.ending) return this.ended();
    log.error({ error: fault }, restarted);
    clock.after(RESTART_MS, () => this.start());
  }

  private count(): void {
    const { options, lost } = this;
    if (lost === this.lostReported || options.clock.monotonic() - this.reportedAt < LOST_MS) return;
    options.log.warn({ lost: lost - this.lostReported, ...options.whyLost?.() }, options.lost);
    this.lostReported = lost;
    this.reportedAt = options.clock.monotonic();
  }
}

const isEnded = (message: { readonly kind: string }): message is LinesEnded => message.kind === 'ended';

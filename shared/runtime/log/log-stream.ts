import { writeSync } from 'node:fs';
import type { Clock } from '../clock.ts';

/** The maximum number of bytes that wait for a reader. */
const MAX_WAITING = 1 << 20;
/** How often a full output is tried again (ms). */
const RETRY_MS = 100;
/** How long the last lines may wait when the process ends, and how often they are tried (ms). */
const LAST_LINES_MS = 500;
const LAST_RETRY_MS = 5;

export type LogStreamTools = {
  readonly clock: Clock;
  /** Blocks the thread for `ms`. */
  pause(ms: number): void;
  /** Lines were lost, and the output takes lines again. */
  lost(lines: number): void;
};

/**
 * Writes lines synchronously to a descriptor that does not block. While there is no reader, they wait in a bounded buffer; those beyond it
 * are lost and counted. A log without a reader must not stop the process that writes it.
 */
export class LogStream {
  private readonly fd: number;
  private readonly tools: LogStreamTools;
  private readonly waiting: Buffer[] = [];
  private bytes = 0;
  /** How many were lost since that was last reported. */
  private lines = 0;
  private retrying = false;
  private ended = false;

  constructor(fd: number, tools: LogStreamTools) {
    this.fd = fd;
    this.tools = tools;
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.bytes + bytes.length > MAX_WAITING) {
      this.lines++;
      return;
    }
    this.waiting.push(bytes);
    this.bytes += bytes.length;
    if (!this.retrying) this.flush();
  }

  /**
   * Called when the process ends or may be about to, also by pino after a fatal line: gives a slow reader some time for the waiting lines,
   * once.
   */
  flushSync(): void {
    const { clock, pause } = this.tools;
    const last = clock.monotonic() + LAST_LINES_MS;
    this.flush();
    while (this.bytes > 0 && !this.ended && clock.monotonic() < last) {
      pause(LAST_RETRY_MS);
      this.flush();
    }
    this.ended = this.bytes > 0;
  }

  private flush(): void {
    if (this.bytes === 0) return;
    try {
      for (let [first] = this.waiting; first !== undefined; [first] = this.waiting) this.sent(first, writeSync(this.fd, first));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return this.retry();
      return this.drop();
    }
    const { lines } = this;
    this.lines = 0;
    if (lines > 0) this.tools.lost(lines);
  }

  private retry(): void {
    if (this.retrying) return;
    this.retrying = true;
    this.tools.clock.after(RETRY_MS, () => {
      this.retrying = false;
      this.flush();
    });
  }

  private sent(first: Buffer, bytes: number): void {
    this.bytes -= bytes;
    if (bytes < first.length) this.waiting[0] = first.subarray(bytes);
    else this.waiting.shift();
  }

  /** The output has failed (its reader has left, or the disk is full), so the reason can't be logged. */
  private drop(): void {
    this.lines += this.waiting.length;
    this.waiting.length = 0;
    this.bytes = 0;
  }
}

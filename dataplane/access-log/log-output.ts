import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import { openStdout } from '../../shared/runtime/process/stdout.ts';
import type { OutputName } from '../ledger/output-name.ts';

/** The maximum number of bytes that wait for one output, and for all of them together. */
const MAX_WAITING = 8 << 20;
const MAX_WAITING_TOTAL = 32 << 20;
/** A pipe takes this much as a whole or not at all, so that lines of other writers don't end up inside ours. */
const ATOMIC = 4_096;
/** How soon an output that failed is tried again (ms). */
const RETRY_MS = 1_000;
/** A file is closed when it has had no line for this long (ms). */
const IDLE_MS = 60_000;
const MODE = 0o640;
const LF = 10;
const FIRST_BYTES = 65_536;

const { O_APPEND, O_CREAT, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;

/** Bytes that wait in all outputs together. */
export type QueuedBytes = { bytes: number };

/**
 * One output of the access log. Nothing here waits for a pipe: what it does not take stays in a bounded buffer. Lines beyond that are
 * dropped, whole.
 */
export class LogOutput {
  readonly name: OutputName;
  /** Why it can't be written; null if it can. */
  failure: string | null = null;
  private readonly waiting: QueuedBytes;
  private fd = -1;
  private isPipe = false;
  private buffer: Buffer = Buffer.alloc(0);
  /** The waiting bytes are `buffer[from, to)`. */
  private from = 0;
  private to = 0;
  /** Whether the first waiting byte is inside a line whose beginning has been written. */
  private torn = false;
  private retryAt = 0;
  private lastLine = 0;

  constructor(name: OutputName, waiting: QueuedBytes) {
    this.name = name;
    this.waiting = waiting;
  }

  /** Adds whole lines. @returns false if they were dropped. */
  add(bytes: Uint8Array, from: number, to: number, now: number): boolean {
    this.lastLine = now;
    const length = to - from;
    if (this.to - this.from + length > MAX_WAITING || this.waiting.bytes + length > MAX_WAITING_TOTAL) return false;
    if (this.to + length > this.buffer.length) this.makeRoom(length);
    this.buffer.set(bytes.subarray(from, to), this.to);
    this.to += length;
    this.waiting.bytes += length;
    return true;
  }

  private makeRoom(length: number): void {
    const used = this.to - this.from;
    let size = Math.max(this.buffer.length, FIRST_BYTES);
    while (size < used + length) size *= 2;
    const buffer = size === this.buffer.length ? this.buffer : Buffer.allocUnsafeSlow(size);
    this.buffer.copy(buffer, 0, this.from, this.to);
    this.buffer = buffer;
    this.from = 0;
    this.to = used;
  }

  /** Writes what waits, as far as the output takes it; `now` in ms on any monotonic clock. @returns how many lines were lost. */
  flush(now: number): number {
    if (this.to === this.from || now < this.retryAt) {
      this.closeIdle(now);
      return 0;
    }
    try {
      if (this.fd < 0) this.open();
      while (this.from < this.to) this.sent(writeSync(this.fd, this.buffer, this.from, this.piece()));
      this.failure = null;
      if (this.buffer.length > FIRST_BYTES * 16) this.buffer = Buffer.alloc(0);
      this.from = 0;
      this.to = 0;
      return 0;
    } catch (error) {
      return this.failed(error, now);
    }
  }

  private failed(error: unknown, now: number): number {
    const { code = '', message } = error as NodeJS.ErrnoException;
    // A full pipe: its reader is slower than the traffic for the moment.
    this.failure = code === 'EAGAIN' ? null : message;
    if (code === 'EAGAIN') return 0;
    this.retryAt = now + RETRY_MS;
    if (code !== 'EPIPE') return 0;
    // The reader of a pipe has left; the next one opens the same path, and must not begin with the rest of a line.
    this.close();
    return this.torn ? this.dropLine() : 0;
  }

  private sent(bytes: number): void {
    this.from += bytes;
    this.waiting.bytes -= bytes;
    this.torn = bytes > 0 ? this.buffer[this.from - 1] !== LF : this.torn;
  }

  /** How many bytes to write at once. */
  private piece(): number {
    const length = this.to - this.from;
    if (!this.isPipe || length <= ATOMIC) return length;
    const end = this.buffer.lastIndexOf(LF, this.from + ATOMIC - 1);
    if (end >= this.from) return end + 1 - this.from;
    return this.buffer.indexOf(LF, this.from) + 1 - this.from;
  }

  private open(): void {
    const { path, follows } = this.name;
    this.fd = path === null ? openStdout() : openLog(path, follows);
    const stat = fstatSync(this.fd);
    this.isPipe = stat.isFIFO() || stat.isSocket();
  }

  /**
   * Begins a new file under the same path, after the old one was renamed. If that is not possible the old one stays.
   * @returns how many lines were lost.
   */
  reopen(now: number): number {
    if (this.fd < 0 || this.name.path === null) {
      this.retryAt = 0;
      return 0;
    }
    this.retryAt = 0;
    let lost = this.flush(now);
    let fd: number;
    try {
      fd = openLog(this.name.path, this.name.follows);
    } catch (error) {
      this.failure = (error as Error).message;
      return lost;
    }
    // The rest of a line that the old file did not take would be a torn line in the new one.
    if (this.torn) lost += this.dropLine();
    this.close();
    this.fd = fd;
    this.isPipe = fstatSync(fd).isFIFO();
    return lost + this.flush(now);
  }

  private dropLine(): number {
    const end = this.buffer.subarray(0, this.to).indexOf(LF, this.from);
    const rest = (end < 0 ? this.to : end + 1) - this.from;
    this.from += rest;
    this.waiting.bytes -= rest;
    this.torn = false;
    return 1;
  }

  private closeIdle(now: number): void {
    if (this.fd < 0 || this.to !== this.from || now - this.lastLine < IDLE_MS) return;
    this.close();
    this.buffer = Buffer.alloc(0);
    this.from = 0;
    this.to = 0;
  }

  private close(): void {
    const { fd } = this;
    this.fd = -1;
    if (fd > 2) closeSync(fd);
  }

  /** Whether bytes wait that the output may soon take: its reader is slower than the traffic, but it has not failed. */
  get busy(): boolean {
    return this.from < this.to && this.failure === null;
  }

  /** Lines that have not been written; counted when the process ends. */
  get unwritten(): number {
    let lines = 0;
    for (let at = this.from; at < this.to; at++) if (this.buffer[at] === LF) lines++;
    return lines;
  }
}

/**
 * Opens a file to append to. A pipe that has no reader is an error (ENXIO) instead of a wait.
 * @throws the system's error.
 */
export function openLog(path: string, follows: boolean): number {
  return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | (follows ? 0 : O_NOFOLLOW), MODE);
}

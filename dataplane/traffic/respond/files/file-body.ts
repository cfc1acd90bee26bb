import fs from 'node:fs';
import type { Exchange } from '../../exchange/exchange.ts';
import { FAILURE, type Failure } from '../../exchange/failure.ts';
import { abortAnswer, endAnswer, flushAnswer, relayBody } from '../../exchange/relay.ts';
import type { ByteRange } from './byte-ranges.ts';
import { type DiskAccess, DiskTimeout } from './disk.ts';
import { refusalOf } from './open.ts';

/** Bytes per read. Large reads double the speed, and small ones bound the memory that many slow clients can take. */
const SMALL = 65_536;
const LARGE = 262_144;
/** Responses that may have large reads at once in a worker. */
const MAX_LARGE = 64;
let large = 0;
/** Large buffers that are kept for later responses. */
const MAX_SPARE = 8;
const spare: Buffer[] = [];

/** Text to send as it is, or bytes of the file. */
export type BodyPart = { readonly text: Buffer } | ByteRange;

/** Sends parts of an open file at the client's pace: each piece is read when the previous one has been accepted. Closes the file. */
export class FileBody {
  private readonly x: Exchange;
  private readonly disk: DiskAccess;
  private readonly fd: number;
  private readonly parts: readonly BodyPart[];
  private readonly size: number;
  private readonly released: () => void;
  private part = 0;
  private position = -1;
  private buffer: Buffer | null = null;
  private running = false;
  private paused = false;
  private over = false;

  /** `released` is called once the file is no longer needed. */
  constructor(x: Exchange, disk: DiskAccess, fd: number, parts: readonly BodyPart[], released: () => void) {
    this.x = x;
    this.disk = disk;
    this.fd = fd;
    this.parts = parts;
    this.released = released;
    this.size = large < MAX_LARGE && parts.some((part) => 'from' in part && part.to - part.from > SMALL) ? LARGE : SMALL;
    if (this.size === LARGE) large++;
  }

  resume(): void {
    this.paused = false;
    if (!this.running && !this.over) this.run().catch((error: unknown) => this.onFault(error));
  }

  /** While a read is under way, its buffer and descriptor stay in use until it has ended. */
  cancel(): void {
    if (this.over) return;
    this.over = true;
    if (!this.running) this.release();
  }

  private onFault(error: unknown): void {
    this.disk.over ||= this.over;
    this.disk.onFault(this.x, error);
  }

  private async run(): Promise<void> {
    this.running = true;
    try {
      while (!this.over && !this.paused) {
        const part = this.parts[this.part];
        if (part === undefined) return this.finish();
        if ('text' in part) {
          this.part++;
          this.paused = !relayBody(this.x, part.text, 0, part.text.length);
        } else await this.piece(part);
      }
    } finally {
      this.running = false;
      if (this.over) this.release();
    }
  }

  private async piece({ from, to }: ByteRange): Promise<void> {
    if (this.position < from) this.position = from;
    const buffer = this.nextBuffer();
    const length = await this.read(buffer, Math.min(this.size, to - this.position));
    if (this.over) return;
    if (typeof length !== 'number') return this.breakOff(length);
    if (length === 0) return this.breakOff(FAILURE.fileShortened);
    this.position += length;
    if (this.position === to) {
      this.position = -1;
      this.part++;
    }
    const more = relayBody(this.x, buffer, 0, length);
    // Sending may have ended the exchange.
    if (this.over) return;
    if (this.part < this.parts.length) flushAnswer(this.x);
    this.paused = !more;
  }

  private async read(buffer: Buffer, length: number): Promise<number | Failure> {
    try {
      return await this.disk.run<number>((done) => fs.read(this.fd, buffer, 0, length, this.position, done));
    } catch (error) {
      refusalOf(error);
      if (!(error instanceof DiskTimeout)) return FAILURE.fileUnreadable;
      // The disk may still write to it.
      this.buffer = null;
      return FAILURE.diskTimeout;
    }
  }

  private nextBuffer(): Buffer {
    if (this.buffer === null || this.x.client.unsent > 0)
      this.buffer = (this.size === LARGE ? spare.pop() : undefined) ?? Buffer.allocUnsafeSlow(this.size);
    return this.buffer;
  }

  private finish(): void {
    this.over = true;
    this.x.attempt = null;
    endAnswer(this.x, '');
  }

  private breakOff(failure: Failure): void {
    const { x } = this;
    this.over = true;
    x.attempt = null;
    x.lastFailure = failure;
    x.failure = failure.reason;
    abortAnswer(x);
  }

  private release(): void {
    this.disk.close(this.fd);
    this.released();
    if (this.size === LARGE) large--;
    const { buffer } = this;
    this.buffer = null;
    // Bytes that the client has not received yet are still in the buffer.
    if (buffer?.length === LARGE && this.x.client.unsent === 0 && spare.length < MAX_SPARE) spare.push(buffer);
  }
}

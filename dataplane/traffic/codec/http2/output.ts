import { FLAG, FRAME_HEADER, TYPE, writeFrameHeader, writeWord } from './frames/frame.ts';

/** The first buffer of a write (bytes), and the largest. */
const MIN_ROOM = 512;
const MAX_BUFFER_BYTES = 65_536;
/** A piece of a body up to this many bytes is copied behind its frame's header; a longer one is sent from where it is. */
export const COPIED = 4_096;

/** What is sent in one write: all frames of a turn. */
export class Output {
  /** Complete parts, in order, before those in `buffer`. */
  private parts: Buffer[] = [];
  private buffer: Buffer | null = null;
  /** Bytes of `buffer` that are among the parts already. */
  private flushed = 0;
  private used = 0;
  /** Bytes since the last `drain`. */
  length = 0;
  /** Where the header of the last DATA frame is, whose END_STREAM can still be set; -1 if there is none. */
  private lastData = -1;
  private lastDataStream = 0;
  /** How much room the next write will need. */
  private guess = MIN_ROOM;

  /** A buffer with room for `bytes` from `at` on. Call `wrote` with the end of what was written. */
  room(bytes: number): Buffer {
    const { buffer } = this;
    if (buffer !== null && buffer.length - this.used >= bytes) return buffer;
    this.closePart();
    const fresh = Buffer.allocUnsafe(Math.max(bytes, buffer === null ? this.guess : Math.min(MAX_BUFFER_BYTES, buffer.length * 2)));
    this.buffer = fresh;
    this.used = 0;
    this.flushed = 0;
    this.lastData = -1;
    return fresh;
  }

  /** Where in the buffer the next frame begins. */
  get at(): number {
    return this.used;
  }

  wrote(end: number): void {
    this.length += end - this.used;
    this.used = end;
  }

  /** A frame whose payload is one word, or none. */
  frame(type: number, flags: number, stream: number, word?: number): void {
    const out = this.room(FRAME_HEADER + 4);
    const payload = writeFrameHeader(out, this.used, word === undefined ? 0 : 4, type, flags, stream);
    this.wrote(word === undefined ? payload : writeWord(out, payload, word));
  }

  /** A frame with these bytes, which are copied. */
  frameOf(type: number, flags: number, stream: number, bytes: Buffer): void {
    const out = this.room(FRAME_HEADER + bytes.length);
    const payload = writeFrameHeader(out, this.used, bytes.length, type, flags, stream);
    bytes.copy(out, payload);
    this.wrote(payload + bytes.length);
  }

  /** A DATA frame with `bytes[from, to)`. If that is longer than `COPIED`, it must stay as it is until it has been sent. */
  data(stream: number, ends: boolean, bytes: Buffer, from: number, to: number): void {
    const length = to - from;
    const copied = length <= COPIED;
    const out = this.room(FRAME_HEADER + (copied ? length : 0));
    this.lastData = this.used;
    this.lastDataStream = stream;
    const payload = writeFrameHeader(out, this.used, length, TYPE.data, ends ? FLAG.endStream : 0, stream);
    if (copied) {
      bytes.copy(out, payload, from, to);
      return this.wrote(payload + length);
    }
    this.wrote(payload);
    this.closePart();
    this.parts.push(bytes.subarray(from, to));
    this.length += length;
  }

  /** Ends a stream with its last DATA frame if that has not been sent yet and nothing of the stream followed. @returns whether it did. */
  endWithLastData(stream: number): boolean {
    const { buffer, lastData } = this;
    if (lastData < 0 || buffer === null || this.lastDataStream !== stream) return false;
    buffer[lastData + 4] = FLAG.endStream;
    return true;
  }

  /** Everything since the last call, in order. */
  drain(): readonly Buffer[] {
    this.closePart();
    const { parts } = this;
    // The turns of a busy connection are mostly alike; the buffer of an idle one shrinks again.
    this.guess = Math.min(MAX_BUFFER_BYTES, Math.max(MIN_ROOM, this.used * 2, this.guess - (this.guess >> 3)));
    this.parts = [];
    this.buffer = null;
    this.used = 0;
    this.flushed = 0;
    this.length = 0;
    this.lastData = -1;
    return parts;
  }

  private closePart(): void {
    if (this.buffer !== null && this.used > this.flushed) this.parts.push(this.buffer.subarray(this.flushed, this.used));
    this.flushed = this.used;
  }
}

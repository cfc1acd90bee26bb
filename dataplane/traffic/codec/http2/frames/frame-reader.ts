import { ERROR, FRAME_HEADER, MAX_FRAME, MAX_STREAM_ID, readWord, TYPE } from './frame.ts';

/** Receives frames in order. */
export interface FrameSink {
  /** A complete frame of any type but DATA; its payload is `buffer[from, to)`, which is valid during the call. */
  frame(type: number, flags: number, stream: number, buffer: Buffer, from: number, to: number): void;
  /** The header of a DATA frame, whose payload of `length` bytes follows in pieces, with its padding. */
  dataBegins(flags: number, stream: number, length: number): void;
  /** A piece of the payload of that frame, valid during the call. */
  dataPiece(buffer: Buffer, from: number, to: number): void;
  /** The DATA frame is complete. */
  dataEnds(): void;
  /** The bytes that follow can't be read as frames (RFC 9113 4.2). */
  unreadable(code: number, reason: string): void;
}

/**
 * Cuts a stream of bytes into frames (RFC 9113 4.1), wherever it was split. A frame that arrives whole is not copied, and neither is any
 * part of a DATA frame.
 */
export class FrameReader {
  private readonly sink: FrameSink;
  /** The beginning of a frame that has not arrived whole; null between two frames. */
  private partial: Buffer | null = null;
  private partialLength = 0;
  /** Bytes that are missing from a DATA frame; -1 outside of one. */
  private dataLeft = -1;
  private stopped = false;

  constructor(sink: FrameSink) {
    this.sink = sink;
  }

  /** Nothing more is read: the connection is ending. */
  stop(): void {
    this.stopped = true;
    this.partial = null;
  }

  /** Reads `buffer[from, to)`. */
  feed(buffer: Buffer, from: number, to: number): void {
    let at = from;
    while (!this.stopped && (at < to || this.dataLeft === 0)) {
      if (this.dataLeft >= 0) at = this.feedData(buffer, at, to);
      else if (this.partial !== null) at = this.complete(this.partial, buffer, at, to);
      else if (to - at < FRAME_HEADER) at = this.keep(buffer, at, to, FRAME_HEADER);
      else at = this.readFrame(buffer, at, to);
    }
  }

  private feedData(buffer: Buffer, at: number, to: number): number {
    const end = Math.min(to, at + this.dataLeft);
    this.dataLeft -= end - at;
    if (end > at) this.sink.dataPiece(buffer, at, end);
    if (this.dataLeft === 0 && !this.stopped) {
      this.dataLeft = -1;
      this.sink.dataEnds();
    }
    return end;
  }

  /** Starts the buffer for a frame that can't be processed before `size` bytes of it have arrived. */
  private keep(buffer: Buffer, at: number, to: number, size: number): number {
    const partial = Buffer.allocUnsafe(size);
    buffer.copy(partial, 0, at, to);
    this.partial = partial;
    this.partialLength = to - at;
    return to;
  }

  private complete(partial: Buffer, buffer: Buffer, at: number, to: number): number {
    const end = Math.min(to, at + partial.length - this.partialLength);
    buffer.copy(partial, this.partialLength, at, end);
    this.partialLength += end - at;
    if (this.partialLength < partial.length) return end;
    this.partial = null;
    // Once the header is complete, it is known how many bytes the rest of the frame has.
    if (partial.length > FRAME_HEADER) this.readFrame(partial, 0, partial.length);
    else this.readKeptHeader(partial);
    return end;
  }

  private readKeptHeader(header: Buffer): void {
    const length = payloadLength(header, 0);
    if (length === 0 || length > MAX_FRAME || header[3] === TYPE.data) return void this.readFrame(header, 0, FRAME_HEADER);
    this.keep(header, 0, FRAME_HEADER, FRAME_HEADER + length);
  }

  /** Reads the frame whose header begins at `at`. @returns where the next one begins, or `to` if more bytes are needed. */
  private readFrame(buffer: Buffer, at: number, to: number): number {
    const length = payloadLength(buffer, at);
    if (length > MAX_FRAME) {
      this.sink.unreadable(ERROR.frameSize, 'a frame is larger than SETTINGS_MAX_FRAME_SIZE');
      return to;
    }
    const type = buffer[at + 3] as number;
    const start = at + FRAME_HEADER;
    const flags = buffer[at + 4] as number;
    const stream = readWord(buffer, at + 5) & MAX_STREAM_ID;
    if (type === TYPE.data) {
      this.dataLeft = length;
      this.sink.dataBegins(flags, stream, length);
      return start;
    }
    if (to - start < length) return this.keep(buffer, at, to, FRAME_HEADER + length);
    this.sink.frame(type, flags, stream, buffer, start, start + length);
    return start + length;
  }
}

const payloadLength = (header: Buffer, at: number): number =>
  ((header[at] as number) << 16) | ((header[at + 1] as number) << 8) | (header[at + 2] as number);

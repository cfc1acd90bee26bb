import { isUtf8 } from 'node:buffer';
import { MAX_LINE_BYTES } from '../../../shared/wire/apply.ts';
import { ApiError } from '../http/errors.ts';

const LF = 10;
const MEGABYTE = 1_048_576;
/** Initial buffer size for an incomplete line. */
const FIRST_ROOM = 4_096;

/** Splits the bytes of an apply stream into lines, wherever the chunks are cut. */
export class LineReader {
  /** The start of an incomplete line, in the first `held` bytes. The buffer grows by doubling, so that many small reads stay cheap. */
  private room = Buffer.alloc(0);
  private held = 0;

  /** @returns the lines that are now complete, without line ends. @throws ApiError for a line that is too long or not UTF-8. */
  *feed(chunk: Buffer): Generator<string> {
    let from = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      yield this.text(chunk.subarray(from, end));
      from = end + 1;
    }
    this.hold(chunk.subarray(from));
  }

  /** The bytes after the last line end. If the body ends there, they are a line too. */
  rest(): string {
    return this.text(Buffer.alloc(0));
  }

  private hold(piece: Buffer): void {
    const size = this.held + piece.length;
    if (size > MAX_LINE_BYTES) throw tooLong();
    if (size > this.room.length) {
      const roomier = Buffer.alloc(Math.min(MAX_LINE_BYTES, Math.max(FIRST_ROOM, 2 * size)));
      this.room.copy(roomier, 0, 0, this.held);
      this.room = roomier;
    }
    piece.copy(this.room, this.held);
    this.held = size;
  }

  private text(end: Buffer): string {
    if (this.held === 0) return textOf(end);
    this.hold(end);
    const line = this.room.subarray(0, this.held);
    this.held = 0;
    // Few lines are that long, and a stream may be open for months.
    if (this.room.length > MEGABYTE) this.room = Buffer.alloc(0);
    return textOf(line);
  }
}

function textOf(line: Buffer): string {
  if (line.length > MAX_LINE_BYTES) throw tooLong();
  if (!isUtf8(line)) throw new ApiError('malformedStream', 'a line is not UTF-8');
  return line.toString().trim();
}

const tooLong = (): ApiError => new ApiError('malformedStream', `a line is longer than ${MAX_LINE_BYTES / MEGABYTE} MB`);

import { AppendBuffer } from '../../io/append-buffer.ts';
import { CR, LF } from './chars.ts';
import { FAULT, type Fault } from './fault.ts';
import { HEAD_END_LENGTH, headEnd } from './head-end.ts';
import { faultOfPartialHead, MAX_REQUEST_HEAD, RequestHead } from './request-head.ts';

/** Finds request heads in the bytes that a client sends, however they are split. */
export class RequestHeadReader {
  readonly head = new RequestHead();
  /** Whether the last call of `read` has filled `head`. */
  whole = false;
  fault: Fault | null = null;
  private incomplete: AppendBuffer | null = null;

  /** Joins the remaining bytes and those that followed. */
  join(rest: Buffer, chunk: Buffer): Buffer {
    return this.incompleteBytes().join(rest, chunk);
  }

  private incompleteBytes(): AppendBuffer {
    this.incomplete ??= new AppendBuffer();
    return this.incomplete;
  }

  /**
   * Examines the beginning of `buffer`. @returns how many bytes it consumed, or -1 if there is no valid head yet. Check `fault` and
   * `whole`.
   */
  read(buffer: Buffer): number {
    this.whole = false;
    let start = 0;
    // RFC 9112 2.2: some old clients send empty lines before a request line.
    while (buffer[start] === CR && buffer[start + 1] === LF) start += 2;
    if (start > 0) {
      this.incomplete = null;
      return start;
    }
    const end = headEnd(buffer, this.incomplete === null ? 0 : this.incomplete.scannedTo);
    if (end < 0 || end + HEAD_END_LENGTH > MAX_REQUEST_HEAD) {
      this.fault = this.readPartial(buffer, end);
      return -1;
    }
    this.incomplete = null;
    this.fault = this.head.parse(buffer, 0, end + HEAD_END_LENGTH);
    this.whole = this.fault === null;
    return this.whole ? end + HEAD_END_LENGTH : -1;
  }

  private readPartial(buffer: Buffer, end: number): Fault | null {
    const incomplete = this.incompleteBytes();
    const tooLong = end >= 0 || buffer.length > MAX_REQUEST_HEAD;
    if (incomplete.shouldParse(buffer.length) || tooLong) {
      const fault = faultOfPartialHead(buffer, 0, end < 0 ? buffer.length : MAX_REQUEST_HEAD, this.head);
      if (fault !== null) return fault;
    }
    incomplete.scannedTo = Math.max(0, buffer.length - 3);
    return tooLong ? FAULT.longHead : null;
  }
}

import { RESPONSE_HEADER_BYTES } from '../../../../shared/upstreams/transport.ts';
import { AppendBuffer } from '../../io/append-buffer.ts';
import { CR, LF } from './chars.ts';
import { FAULT, type Fault } from './fault.ts';
import { MAX_ANSWER_FIELDS } from './fields.ts';
import { HEAD_END_LENGTH, headEnd } from './head-end.ts';
import { faultOfPartialAnswer, ResponseHead } from './response-head.ts';

/** Limits for a response head. */
export type HeadLimits = {
  /** Status line, fields and the empty line together. */
  readonly bytes: number;
  readonly lines: number;
};

export const DEFAULT_HEAD_LIMITS: HeadLimits = { bytes: RESPONSE_HEADER_BYTES.default, lines: MAX_ANSWER_FIELDS };

/** The end of a line followed by an empty line, with and without CR. */
const EMPTY_LINE = Buffer.from('\n\r\n');
const BARE_EMPTY_LINE = Buffer.from('\n\n');

/**
 * Finds and reads the response heads on one connection, including interim ones. A head whose lines all end with CRLF is read at once. Only
 * if that fails is it read again with the rules for lenient upstreams: an empty line in front, and lines that end with LF alone (RFC 9112
 * 2.2). Both sets of rules agree on where a head ends.
 */
export class ResponseHeadReader {
  readonly head = new ResponseHead();
  /** Why the bytes are not a head; null while they may still be one. */
  fault: Fault | null = null;
  private incomplete: AppendBuffer | null = null;

  /** Whether the fault is that the head exceeds the limits. */
  get tooLong(): boolean {
    return this.fault === FAULT.longHead || this.fault === FAULT.manyFields;
  }

  /** `partial`, which contains no complete head, followed by `piece`. Neither is overwritten. */
  join(partial: Buffer | null, piece: Buffer): Buffer {
    return partial === null ? piece : this.incompleteBytes().join(partial, piece);
  }

  /** Bytes that must wait for more, kept where nothing overwrites them. */
  keep(partial: Buffer): Buffer {
    return this.incompleteBytes().keep(partial);
  }

  private incompleteBytes(): AppendBuffer {
    // Heads have a limit of their own.
    this.incomplete ??= new AppendBuffer(Number.POSITIVE_INFINITY);
    return this.incomplete;
  }

  /**
   * Reads the head that begins at `start`. Bytes before it, and those scanned in an earlier call, need not be scanned again.
   * @returns where the head ends, or -1 if it is incomplete or invalid (see `fault`).
   */
  read(buffer: Buffer, start: number, limits: HeadLimits, overrides: ReadonlyMap<number, string> | null): number {
    const { head } = this;
    head.fields.maxFields = limits.lines;
    const found = headEnd(buffer, Math.max(start, this.incomplete?.scannedTo ?? 0));
    const end = found < 0 ? -1 : found + HEAD_END_LENGTH;
    if (end >= 0 && end - start <= limits.bytes && head.parse(buffer, start, end, overrides) === null) return this.finish(end);
    return this.readLeniently(buffer, start, limits, overrides);
  }

  private finish(end: number): number {
    this.incomplete = null;
    return end;
  }

  private readLeniently(buffer: Buffer, start: number, limits: HeadLimits, overrides: ReadonlyMap<number, string> | null): number {
    const from = afterEmptyLine(buffer, start);
    const end = endOfHead(buffer, Math.max(from, this.incomplete?.scannedTo ?? 0));
    const length = (end < 0 ? buffer.length : end) - start;
    if (length > limits.bytes) this.fault = FAULT.longHead;
    else if (end >= 0) this.fault = this.head.parse(buffer, from, end, overrides, true);
    else if (this.incompleteBytes().shouldParse(length)) this.fault = faultOfPartialAnswer(buffer, from, buffer.length);
    if (this.fault !== null) return -1;
    if (end >= 0) return this.finish(end);
    this.incompleteBytes().scannedTo = Math.max(0, buffer.length - start - EMPTY_LINE.length);
    return -1;
  }
}

/** Skips one empty line, which some upstreams send after a body or an interim head. */
function afterEmptyLine(buffer: Buffer, start: number): number {
  if (buffer[start] === LF) return start + 1;
  return buffer[start] === CR && buffer[start + 1] === LF ? start + 2 : start;
}

/** The index right after the first empty line, or -1. */
function endOfHead(buffer: Buffer, from: number): number {
  const usual = buffer.indexOf(EMPTY_LINE, from);
  const bare = buffer.indexOf(BARE_EMPTY_LINE, from);
  if (bare < 0) return usual < 0 ? -1 : usual + EMPTY_LINE.length;
  return usual >= 0 && usual < bare ? usual + EMPTY_LINE.length : bare + BARE_EMPTY_LINE.length;
}

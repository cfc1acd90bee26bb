import { RESPONSE_HEADER_BYTES } from '../../../../shared/transport.ts';
import { Gathering } from '../../io/gathering.ts';
import { CR, LF } from './chars.ts';
import { FAULT, type Fault } from './fault.ts';
import { MAX_ANSWER_FIELDS } from './fields.ts';
import { HEAD_END } from './request-head.ts';
import { faultOfPartialAnswer, ResponseHead } from './response-head.ts';

/** How much an answer's head may be. */
export type HeadLimits = {
  /** Status line, fields and the empty line together. */
  readonly bytes: number;
  readonly lines: number;
};

export const USUAL_HEAD: HeadLimits = { bytes: RESPONSE_HEADER_BYTES.usual, lines: MAX_ANSWER_FIELDS };

/** An empty line, by what may stand in front of its end. */
const EMPTY_LINE = Buffer.from('\n\r\n');
const BARE_EMPTY_LINE = Buffer.from('\n\n');

/**
 * Finds the heads of answers in the bytes of one connection, interim ones too, and reads them. A head whose lines all end with CRLF is
 * read at once; only one that can't be read so is looked at again by the rules for upstreams that do it in another way: an
 * empty line in front, and LF alone at the end of lines (RFC 9112 2.2). Where a head ends is the same by both.
 */
export class ResponseHeadReader {
  readonly head = new ResponseHead();
  /** Why the bytes are no head; null while they may be one. */
  fault: Fault | null = null;
  private gathering: Gathering | null = null;

  /** `partial`, which has no whole head, and what has come after it. Nothing of either is overwritten. */
  join(partial: Buffer | null, piece: Buffer): Buffer {
    return partial === null ? piece : this.gathered().join(partial, piece);
  }

  /** What has to wait for more, where nobody writes over it. */
  keep(partial: Buffer): Buffer {
    return this.gathered().keep(partial);
  }

  private gathered(): Gathering {
    // Heads have a limit of their own.
    this.gathering ??= new Gathering(Number.POSITIVE_INFINITY);
    return this.gathering;
  }

  /**
   * Reads the head that begins at `start`; bytes before it, and those looked at in an earlier call, need not be looked at again.
   * @returns where it ends, or -1 where it is not whole or, see `fault`, is none.
   */
  read(buffer: Buffer, start: number, limits: HeadLimits, overrides: ReadonlyMap<number, string> | null): number {
    const { head } = this;
    head.fields.most = limits.lines;
    const found = buffer.indexOf(HEAD_END, Math.max(start, this.gathering?.sought ?? 0));
    const end = found < 0 ? -1 : found + HEAD_END.length;
    if (end >= 0 && end - start <= limits.bytes && head.parse(buffer, start, end, overrides) === null) return this.over(end);
    return this.readTolerantly(buffer, start, limits, overrides);
  }

  private over(end: number): number {
    this.gathering = null;
    return end;
  }

  private readTolerantly(buffer: Buffer, start: number, limits: HeadLimits, overrides: ReadonlyMap<number, string> | null): number {
    const from = afterEmptyLine(buffer, start);
    const end = endOfHead(buffer, Math.max(from, this.gathering?.sought ?? 0));
    const length = (end < 0 ? buffer.length : end) - start;
    if (length > limits.bytes) this.fault = FAULT.longHead;
    else if (end >= 0) this.fault = this.head.parse(buffer, from, end, overrides, true);
    else if (this.gathered().worthJudging(length)) this.fault = faultOfPartialAnswer(buffer, from, buffer.length);
    if (this.fault !== null) return -1;
    if (end >= 0) return this.over(end);
    this.gathered().sought = Math.max(0, buffer.length - start - EMPTY_LINE.length);
    return -1;
  }
}

/** Behind one empty line, which some send after a body or an interim head. */
function afterEmptyLine(buffer: Buffer, start: number): number {
  if (buffer[start] === LF) return start + 1;
  return buffer[start] === CR && buffer[start + 1] === LF ? start + 2 : start;
}

/** Right after the first empty line, or -1. */
function endOfHead(buffer: Buffer, from: number): number {
  const usual = buffer.indexOf(EMPTY_LINE, from);
  const bare = buffer.indexOf(BARE_EMPTY_LINE, from);
  if (bare < 0) return usual < 0 ? -1 : usual + EMPTY_LINE.length;
  return usual >= 0 && usual < bare ? usual + EMPTY_LINE.length : bare + BARE_EMPTY_LINE.length;
}

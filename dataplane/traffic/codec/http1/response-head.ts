import { CLASS, CR, FIELD_VALUE, LF, SP } from './chars.ts';
import { FAULT, type Fault } from './fault.ts';
import { Fields, MAX_ANSWER_FIELDS } from './fields.ts';
import { faultOfPartialFields } from './partial-fields.ts';

/** "HTTP/1.1 200" */
const STATUS_LINE_MIN = 12;

/** A response head (RFC 9112 4) as one value that its connection reuses from response to response. */
export class ResponseHead {
  status = 0;
  reason = '';
  minor = 1;
  readonly fields = new Fields(MAX_ANSWER_FIELDS);

  /**
   * Reads `buffer[start, end)`, which ends with the empty line. `overrides`: see `Fields.scan`. `bareLineFeeds`: a line may end with LF
   * alone.
   * @returns the fault, or null. Nothing of the head may be used after a fault.
   */
  parse(buffer: Buffer, start: number, end: number, overrides: ReadonlyMap<number, string> | null, bareLineFeeds = false): Fault | null {
    const raw = buffer.toString('latin1', start, end);
    if (end - start < STATUS_LINE_MIN || !raw.startsWith('HTTP/1.')) return FAULT.badStatusLine;
    this.minor = (buffer[start + 7] as number) - 48;
    if ((this.minor !== 0 && this.minor !== 1) || buffer[start + 8] !== SP) return FAULT.badStatusLine;
    this.status = threeDigits(buffer, start + 9);
    if (this.status < 100) return FAULT.badStatusLine;
    let at = start + STATUS_LINE_MIN;
    let byte = buffer[at] as number;
    // Some servers omit the space before an empty reason phrase. The phrase itself has no meaning (RFC 9112 4).
    if (byte === SP) byte = buffer[++at] as number;
    else if (byte !== CR && byte !== LF) return FAULT.badStatusLine;
    const reasonStart = at;
    while (((CLASS[byte] as number) & FIELD_VALUE) !== 0) byte = buffer[++at] as number;
    this.reason = this.status === 200 ? 'OK' : raw.slice(reasonStart - start, at - start);
    if (byte === CR && buffer[at + 1] === LF) at += 2;
    else if (byte === LF && bareLineFeeds) at++;
    else return byte === LF ? FAULT.bareLineEnd : FAULT.badStatusLine;
    const linesEnd = bareLineFeeds && buffer[end - 2] !== CR ? end - 1 : end - 2;
    this.fields.bareLineFeeds = bareLineFeeds;
    const fault = this.fields.scan(buffer, raw, start, at, linesEnd, 'response', overrides);
    if (fault !== null) return fault;
    return this.fields.chunked && this.minor === 0 ? FAULT.codingInOldVersion : null;
  }

  /** Whether the response has no body, regardless of its fields (RFC 9112 6.3, rule 1). */
  bodyless(method: string): boolean {
    return method === 'HEAD' || this.status < 200 || this.status === 204 || this.status === 304;
  }

  /**
   * Whether a response without a body announces one, as responses to HEAD do (RFC 9110 9.3.2). A faulty upstream may send that body anyway,
   * perhaps later, and it would be taken for the response to the next request.
   */
  announcesBody(method: string): boolean {
    const { chunked, contentLength } = this.fields;
    return chunked || contentLength > 0 || (contentLength < 0 && method === 'HEAD' && this.status !== 204 && this.status !== 304);
  }
}

/** 100 to 999, or 0 if it is not a status code. Codes from 600 have no defined meaning and are passed on (RFC 9110 15). */
function threeDigits(buffer: Buffer, at: number): number {
  const hundreds = (buffer[at] as number) - 48;
  const tens = (buffer[at + 1] as number) - 48;
  const ones = (buffer[at + 2] as number) - 48;
  if (hundreds < 1 || hundreds > 9 || tens < 0 || tens > 9 || ones < 0 || ones > 9) return 0;
  return hundreds * 100 + tens * 10 + ones;
}

/** As for requests: bytes that can't become a response are refused before the head is complete. */
export function faultOfPartialAnswer(buffer: Buffer, start: number, end: number): Fault | null {
  // Half of an empty line in front.
  if (end === start + 1 && buffer[start] === CR) return null;
  const lineEnd = buffer.indexOf(LF, start);
  const whole = lineEnd >= 0 && lineEnd < end;
  if (!STATUS_LINE.test(wholeLine(buffer.toString('latin1', start, whole ? lineEnd + 1 : end)))) return FAULT.badStatusLine;
  return whole ? faultOfPartialFields(buffer, lineEnd + 1, end, true) : null;
}

const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?(?:\r\n?|\n)?$/;
/** Completes the prefix of a status line, so that one expression validates both. */
const SAMPLE = 'HTTP/1.1 200';
const wholeLine = (line: string): string => line + SAMPLE.slice(line.length);

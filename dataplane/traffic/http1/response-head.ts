import { CLASS, CR, FIELD_VALUE, LF, SP } from './chars.ts';
import { FAULT, type Fault } from './fault.ts';
import { Fields, faultOfPartialFields } from './fields.ts';

/** Bytes of an answer's head. Upstreams may say more than clients. */
export const MAX_RESPONSE_HEAD = 65_536;

/** "HTTP/1.1 200" */
const STATUS_LINE_MIN = 12;

/** An answer's head (RFC 9112 4) as one value, reused from answer to answer on its connection. */
export class ResponseHead {
  status = 0;
  reason = '';
  minor = 1;
  readonly fields = new Fields();

  /**
   * Reads `buffer[start, end)`, which ends with the empty line. `overrides` as in `Fields.scan`.
   * @returns the fault, or null. Nothing of the head may be used after a fault.
   */
  parse(buffer: Buffer, start: number, end: number, overrides: ReadonlyMap<number, string> | null): Fault | null {
    const raw = buffer.toString('latin1', start, end);
    if (end - start < STATUS_LINE_MIN || !raw.startsWith('HTTP/1.')) return FAULT.badStatusLine;
    this.minor = (buffer[start + 7] as number) - 48;
    if ((this.minor !== 0 && this.minor !== 1) || buffer[start + 8] !== SP) return FAULT.badStatusLine;
    this.status = threeDigits(buffer, start + 9);
    if (this.status < 100) return FAULT.badStatusLine;
    let at = start + STATUS_LINE_MIN;
    // The space before an empty reason is left out by some; the phrase itself says nothing (RFC 9112 4).
    if (buffer[at] === SP) at++;
    else if (buffer[at] !== CR) return FAULT.badStatusLine;
    const reasonStart = at;
    let byte = buffer[at] as number;
    while (((CLASS[byte] as number) & FIELD_VALUE) !== 0) byte = buffer[++at] as number;
    if (byte !== CR || buffer[at + 1] !== LF) return FAULT.badStatusLine;
    this.reason = this.status === 200 ? 'OK' : raw.slice(reasonStart - start, at - start);
    if (end - start > MAX_RESPONSE_HEAD) return FAULT.longHead;
    const fault = this.fields.scan(buffer, raw, start, at + 2, end - 2, 'response', overrides);
    if (fault !== null) return fault;
    return this.fields.chunked && this.minor === 0 ? FAULT.codingInOldVersion : null;
  }

  /** Whether the answer has no body whatever its fields say (RFC 9112 6.3, rule 1). */
  bodyless(method: string): boolean {
    return method === 'HEAD' || this.status < 200 || this.status === 204 || this.status === 304;
  }

  /**
   * Whether an answer without a body speaks of one, as those to HEAD do (RFC 9110 9.3.2). An upstream that is wrong
   * about it sends that body all the same, perhaps later: it would be taken for the answer to the next request.
   */
  speaksOfBody(method: string): boolean {
    const { chunked, contentLength } = this.fields;
    return chunked || contentLength > 0 || (contentLength < 0 && method === 'HEAD' && this.status !== 204 && this.status !== 304);
  }
}

/** 100 to 599, or 0 for what is no status code (RFC 9110 15: others have no meaning). */
function threeDigits(buffer: Buffer, at: number): number {
  const hundreds = (buffer[at] as number) - 48;
  const tens = (buffer[at + 1] as number) - 48;
  const ones = (buffer[at + 2] as number) - 48;
  if (hundreds < 1 || hundreds > 5 || tens < 0 || tens > 9 || ones < 0 || ones > 9) return 0;
  return hundreds * 100 + tens * 10 + ones;
}

/** As for requests: bytes that can't become an answer are refused before the answer is whole. */
export function faultOfPartialAnswer(buffer: Buffer, start: number, end: number): Fault | null {
  const lineEnd = buffer.indexOf(LF, start);
  const whole = lineEnd >= 0 && lineEnd < end;
  const fault = faultOfPartialStatusLine(buffer.toString('latin1', start, whole ? lineEnd + 1 : end));
  return fault !== null || !whole ? fault : faultOfPartialFields(buffer, lineEnd + 1, end);
}

const STATUS_LINE = /^HTTP\/1\.[01] [1-5]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?(?:\r\n?)?$/;
/** Any beginning of a status line, made whole, is one. */
const SAMPLE = 'HTTP/1.1 200';

function faultOfPartialStatusLine(line: string): Fault | null {
  if (STATUS_LINE.test(line + SAMPLE.slice(line.length))) return null;
  return line.endsWith('\n') && !line.endsWith('\r\n') ? FAULT.bareLineEnd : FAULT.badStatusLine;
}

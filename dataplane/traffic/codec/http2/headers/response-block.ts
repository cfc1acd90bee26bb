import { STATUS_CODES } from '../../../../../shared/runtime/http/node-http.ts';
import { FieldLines, type FieldSink } from '../hpack/decoder.ts';
import { describesConnection, mayDescribeConnection } from './connection-fields.ts';

const STATUS = 8;
const COLON = 0x3a;
/** Room for a status line, which is longer than the field that it replaces. */
const HEADROOM = 128;

/**
 * The fields of a response (RFC 9113 8.3.2), written as the equivalent HTTP/1.1 head while they are decoded, so that one parser reads the
 * responses of both protocols. Reused from response to response.
 */
export class ResponseBlock implements FieldSink {
  readonly lines = new FieldLines();
  /** The head is `lines.bytes[from, to)` once `finish` has accepted it. */
  from = 0;
  to = 0;
  private isMalformed = false;
  private status = '';
  private fieldsFrom = -1;

  begin(): void {
    this.lines.length = 0;
    this.lines.ensure(HEADROOM);
    this.lines.length = HEADROOM;
    this.isMalformed = false;
    this.status = '';
    this.fieldsFrom = -1;
  }

  field(lines: FieldLines, start: number, colon: number, end: number, known: number, oddities: number): void {
    const { bytes } = lines;
    if (bytes[start] === COLON) {
      if (known !== STATUS || this.status !== '' || this.fieldsFrom >= 0 || oddities !== 0) this.isMalformed = true;
      this.status = bytes.toString('latin1', colon + 2, end - 2);
      return;
    }
    if (this.fieldsFrom < 0) this.fieldsFrom = start;
    if (oddities !== 0) this.isMalformed = true;
    else if (
      mayDescribeConnection(colon - start) &&
      describesConnection(bytes.toString('latin1', start, colon), bytes.toString('latin1', colon + 2, end - 2))
    )
      this.isMalformed = true;
  }

  /** Completes the head. @returns false if it is malformed: no status, or a field that HTTP/2 does not allow. */
  finish(): boolean {
    const { lines, status } = this;
    if (this.isMalformed || !/^[1-9]\d\d$/.test(status)) return false;
    if (this.fieldsFrom < 0) this.fieldsFrom = lines.length;
    lines.ensure(2);
    lines.length += lines.bytes.write('\r\n', lines.length, 'latin1');
    const line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
    this.from = this.fieldsFrom - line.length;
    this.to = lines.length;
    lines.bytes.write(line, this.from, 'latin1');
    return true;
  }
}

import { ChunkedDecoder } from '../../http1/chunked.ts';
import { FieldLines, type FieldSink } from '../hpack/decoder.ts';
import { describesConnection, mayDescribeConnection } from './connection-fields.ts';

const COLON = 0x3a;
/** The end of a body, which precedes the trailers: the HTTP/1.1 code reads them, so that both protocols obey the same rules. */
const LAST_CHUNK = '0\r\n';
const nowhere = { bodyPiece: (): void => undefined };

/** The fields after a body (RFC 9113 8.1). Reused from message to message. */
export class TrailerBlock implements FieldSink {
  readonly lines = new FieldLines();
  private isMalformed = false;

  begin(): void {
    this.isMalformed = false;
    const { lines } = this;
    lines.length = 0;
    lines.ensure(LAST_CHUNK.length);
    lines.length = lines.bytes.write(LAST_CHUNK, 0, 'latin1');
  }

  field({ bytes }: FieldLines, start: number, colon: number, end: number, _known: number, oddities: number): void {
    if (oddities !== 0 || bytes[start] === COLON) this.isMalformed = true;
    else if (
      mayDescribeConnection(colon - start) &&
      describesConnection(bytes.toString('latin1', start, colon), bytes.toString('latin1', colon + 2, end - 2))
    )
      this.isMalformed = true;
  }

  /** The lines to pass on; null if one of them carries framing or describes a connection (RFC 9110 6.5.1). */
  finish(direction: 'request' | 'response'): string | null {
    if (this.isMalformed) return null;
    const { lines } = this;
    lines.ensure(2);
    lines.length += lines.bytes.write('\r\n', lines.length, 'latin1');
    const decoder = new ChunkedDecoder(direction);
    decoder.feed(lines.bytes, 0, lines.length, nowhere);
    return decoder.fault === null ? decoder.trailers : null;
  }
}

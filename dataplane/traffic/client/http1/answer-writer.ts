import { type Exchange, SMALL_PIECE, UNTIL_CLOSE } from '../../exchange/exchange.ts';
import type { AcceptedSocket } from '../../io/accepted-socket.ts';
import { lengthEnd } from './length-end.ts';

/** The maximum number of buffered bytes, so that a source of small pieces notices when its client does not read. */
const MAX_GATHERED_BYTES = 65_536;

/** The most common status line, so that it isn't assembled for each response. */
const OK_LINE = 'HTTP/1.1 200 OK\r\n';

/** Writes responses to an HTTP/1.x client: heads, framing and bodies, combined into one write per turn. */
export class AnswerWriter {
  headSent = false;
  private readonly socket: AcceptedSocket;
  /** Buffered for the next write, as Latin-1. */
  private out = '';
  private minor = 1;
  private chunked = false;

  constructor(socket: AcceptedSocket) {
    this.socket = socket;
  }

  /** The HTTP/1 minor version of the request that is answered next. */
  begin(minor: number): void {
    this.minor = minor;
    this.headSent = false;
    this.chunked = false;
  }

  get protocol(): 'HTTP/1.0' | 'HTTP/1.1' {
    return this.minor === 1 ? 'HTTP/1.1' : 'HTTP/1.0';
  }

  /** Whether the framing lets the client distinguish a truncated body from a complete one. */
  get delimited(): boolean {
    return this.chunked || this.minor === 1;
  }

  /** Bytes that have not been sent yet. */
  get unsent(): number {
    return this.out.length + this.socket.writableLength;
  }

  informational(status: number, reason: string, fields: string): void {
    if (this.minor === 1 && !this.headSent) this.out += `HTTP/1.1 ${status} ${reason}\r\n${fields}\r\n`;
  }

  /** RFC 9112 6. @returns whether the connection can be reused after this response. */
  head(x: Exchange, status: number, reason: string, fields: string, length: number, persist: boolean): boolean {
    x.status = status;
    x.answerFields = fields;
    this.headSent = true;
    let reusable = persist;
    const measured = length !== UNTIL_CLOSE && status !== 204;
    if (length === UNTIL_CLOSE && x.method !== 'HEAD' && status !== 204 && status !== 304) {
      this.chunked = this.minor === 1;
      reusable &&= this.chunked;
    }
    const connection = reusable ? (this.minor === 1 ? '' : 'Connection: keep-alive\r\n') : 'Connection: close\r\n';
    const line = status === 200 && reason === 'OK' ? OK_LINE : `HTTP/1.1 ${status} ${reason}\r\n`;
    const end = measured && connection === '' ? lengthEnd(length) : `${this.framing(measured, length)}${connection}\r\n`;
    this.gather(x, `${line}${fields}${end}`);
    return reusable;
  }

  private framing(measured: boolean, length: number): string {
    if (measured) return `Content-Length: ${length}\r\n`;
    return this.chunked ? 'Transfer-Encoding: chunked\r\n' : '';
  }

  /** @returns false when the sender should pause. */
  body(x: Exchange, buffer: Buffer, from: number, to: number): boolean {
    const length = to - from;
    if (length === 0) return true;
    if (this.chunked) this.gather(x, `${length.toString(16)}\r\n`);
    x.bytesSent += length;
    x.bodySent += length;
    if (length <= SMALL_PIECE) {
      this.out += buffer.toString('latin1', from, to);
      if (this.out.length > MAX_GATHERED_BYTES) this.flush();
    } else {
      const { socket, out } = this;
      const piece = buffer.subarray(from, to);
      this.out = '';
      if (out === '') socket.writeBytes(piece);
      else socket.writeBoth(out, piece);
    }
    if (this.chunked) this.gather(x, '\r\n');
    return !this.socket.writableNeedDrain;
  }

  end(x: Exchange, trailers: string): void {
    if (this.chunked) this.gather(x, `0\r\n${trailers}\r\n`);
  }

  /** Buffers text, which is counted as sent for the exchange. */
  gather(x: Exchange | null, text: string): void {
    if (x !== null) x.bytesSent += text.length;
    this.out += text;
  }

  flush(): void {
    if (this.out === '') return;
    const out = this.out;
    this.out = '';
    this.socket.write(out);
  }
}

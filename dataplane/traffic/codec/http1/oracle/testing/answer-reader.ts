import { ChunkedDecoder } from '../../chunked.ts';
import type { Fault } from '../../fault.ts';
import type { ResponseHead } from '../../response-head.ts';
import { DEFAULT_HEAD_LIMITS, ResponseHeadReader } from '../../response-head-reader.ts';
import type { MessageReader, OurMessage, OurReading } from './reading.ts';

/** The codec reads a 101; the connection that reads with it refuses one that it has not asked for. */
const UNSOLICITED_SWITCH: Fault = { status: 400, reason: 'the upstream switched protocols without a request for it' };

/** Uses the codec as an upstream connection does for one request: interim heads, then the final response. */
export class AnswerReader implements MessageReader {
  readonly reading: OurReading = { messages: [], fault: null };
  private readonly method: string;
  private readonly heads = new ResponseHeadReader();
  private readonly decoder = new ChunkedDecoder('response');
  private pending: Buffer | null = null;
  private offset = 0;
  private message: OurMessage | null = null;

  constructor(method: string) {
    this.method = method;
    this.decoder.reset();
  }

  feed(piece: Buffer): void {
    this.pending = this.heads.join(this.pending, piece);
    while (this.pending !== null && this.pending.length > 0 && this.reading.fault === null && this.message?.complete !== true) {
      const used = this.message === null ? this.readHead(this.pending) : this.readBody(this.message, this.pending);
      if (used < 0) {
        this.pending = this.heads.keep(this.pending);
        return;
      }
      this.offset += used;
      this.pending = this.pending.subarray(used);
    }
  }

  /** The connection has ended, so a body that has no other end is complete. */
  end(): void {
    if (this.message !== null && !this.message.chunked && this.message.length < 0) this.message.complete = true;
  }

  private readHead(buffer: Buffer): number {
    const { heads, reading } = this;
    const end = heads.read(buffer, 0, DEFAULT_HEAD_LIMITS, null);
    reading.fault = heads.fault;
    if (end < 0) return -1;
    if (heads.head.status === 101) reading.fault = UNSOLICITED_SWITCH;
    if (reading.fault !== null) return -1;
    this.begin(heads.head, this.offset + end);
    return end;
  }

  private begin(head: ResponseHead, bodyOffset: number): void {
    const { status, minor, fields } = head;
    const { kept, contentLength: length, chunked } = fields;
    const persists = minor === 1 ? !fields.connectionClose : fields.connectionKeepAlive && !fields.connectionClose;
    const complete = head.bodyless(this.method) || (!chunked && length === 0);
    const line = { offset: this.offset, bodyOffset, method: '', target: '', status, minor, host: fields.host };
    const message: OurMessage = { ...line, kept, length, chunked, persists, body: '', trailers: '', complete };
    this.reading.messages.push(message);
    this.message = status < 200 ? null : message;
  }

  private readBody(message: OurMessage, buffer: Buffer): number {
    if (!message.chunked) {
      const left = message.length < 0 ? buffer.length : message.length - message.body.length;
      const to = Math.min(buffer.length, left);
      message.body += buffer.toString('latin1', 0, to);
      message.complete = message.body.length === message.length;
      return to;
    }
    const used = this.decoder.feed(buffer, 0, buffer.length, {
      bodyPiece: (bytes, from, to) => {
        message.body += bytes.toString('latin1', from, to);
      },
    });
    this.reading.fault = this.decoder.fault;
    message.trailers = this.decoder.trailers;
    message.complete = this.decoder.done;
    return used;
  }
}

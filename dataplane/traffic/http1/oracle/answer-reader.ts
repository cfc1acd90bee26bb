import { ChunkedDecoder } from '../chunked.ts';
import { FAULT } from '../fault.ts';
import { HEAD_END } from '../request-head.ts';
import { faultOfPartialAnswer, MAX_RESPONSE_HEAD, ResponseHead } from '../response-head.ts';
import type { OurMessage, OurReading, Reader } from './reading.ts';

/** Uses the codec as an upstream's connection does for one request: interim heads, then the answer. */
export class AnswerReader implements Reader {
  readonly reading: OurReading = { messages: [], fault: null };
  private readonly method: string;
  private readonly head = new ResponseHead();
  private readonly decoder = new ChunkedDecoder();
  private pending: Buffer = Buffer.alloc(0);
  private offset = 0;
  private message: OurMessage | null = null;

  constructor(method: string) {
    this.method = method;
    this.decoder.reset();
  }

  feed(piece: Buffer): void {
    this.pending = this.pending.length === 0 ? piece : Buffer.concat([this.pending, piece]);
    while (this.pending.length > 0 && this.reading.fault === null && this.message?.complete !== true) {
      const used = this.message === null ? this.readHead(this.pending) : this.readBody(this.message, this.pending);
      if (used < 0) return;
      this.offset += used;
      this.pending = this.pending.subarray(used);
    }
  }

  /** The connection has ended: a body without any other end is whole now. */
  end(): void {
    if (this.message !== null && !this.message.chunked && this.message.length < 0) this.message.complete = true;
  }

  private readHead(buffer: Buffer): number {
    const end = buffer.indexOf(HEAD_END);
    if ((end < 0 ? buffer.length : end + 4) > MAX_RESPONSE_HEAD) {
      this.reading.fault = FAULT.longHead;
      return -1;
    }
    this.reading.fault = end < 0 ? faultOfPartialAnswer(buffer, 0, buffer.length) : this.head.parse(buffer, 0, end + 4, null);
    if (end >= 0 && this.head.status === 101) this.reading.fault ??= FAULT.unsolicitedSwitch;
    if (end < 0 || this.reading.fault !== null) return -1;
    this.begin(this.head);
    return end + 4;
  }

  private begin(head: ResponseHead): void {
    const { status, minor, fields } = head;
    const { kept, contentLength: length, chunked } = fields;
    const persists = minor === 1 ? !fields.connectionClose : fields.connectionKeepAlive && !fields.connectionClose;
    const complete = head.bodyless(this.method) || (!chunked && length === 0);
    const line = { offset: this.offset, method: '', target: '', status, minor, host: fields.host };
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

import { CR, LF } from '../../chars.ts';
import { ChunkedDecoder } from '../../chunked.ts';
import { FAULT } from '../../fault.ts';
import { faultOfPartialHead, MAX_REQUEST_HEAD, RequestHead } from '../../request-head.ts';
import type { MessageReader, OurMessage, OurReading } from './reading.ts';

/** Uses the codec as a client connection does, and records the result. */
export class RequestReader implements MessageReader {
  readonly reading: OurReading = { messages: [], fault: null };
  private readonly head = new RequestHead();
  private readonly decoder = new ChunkedDecoder('request');
  private pending: Buffer = Buffer.alloc(0);
  private offset = 0;
  private message: OurMessage | null = null;
  private closed = false;

  feed(piece: Buffer): void {
    this.pending = this.pending.length === 0 ? piece : Buffer.concat([this.pending, piece]);
    while (this.pending.length > 0 && !this.closed && this.reading.fault === null) {
      const used = this.message === null ? this.readHead(this.pending) : this.readBody(this.message, this.pending);
      if (used < 0) return;
      this.offset += used;
      this.pending = this.pending.subarray(used);
    }
  }

  private readHead(buffer: Buffer): number {
    let start = 0;
    while (buffer[start] === CR && buffer[start + 1] === LF) start += 2;
    if (start === buffer.length) return start;
    const end = buffer.indexOf('\r\n\r\n', start);
    if (end < 0 || end + 4 - start > MAX_REQUEST_HEAD) {
      const stop = end < 0 ? buffer.length : start + MAX_REQUEST_HEAD;
      this.reading.fault = faultOfPartialHead(buffer, start, stop, this.head) ?? (stop - start < MAX_REQUEST_HEAD ? null : FAULT.longHead);
      return -1;
    }
    this.reading.fault = this.head.parse(buffer, start, end + 4);
    if (this.reading.fault !== null) return -1;
    this.begin(this.head, this.offset + start, this.offset + end + 4);
    return end + 4;
  }

  private begin({ method, target, minor, hostField, fields }: RequestHead, offset: number, bodyOffset: number): void {
    const { kept, contentLength: length, chunked } = fields;
    const persists = minor === 1 ? !fields.connectionClose : fields.connectionKeepAlive && !fields.connectionClose;
    const complete = !chunked && length <= 0;
    const message = { offset, bodyOffset, method, target, status: 0, minor, host: hostField, kept, length, chunked, persists };
    const whole: OurMessage = { ...message, body: '', trailers: '', complete };
    this.reading.messages.push(whole);
    this.closed = complete && !persists;
    this.message = complete ? null : whole;
    this.decoder.reset();
  }

  private readBody(message: OurMessage, buffer: Buffer): number {
    if (!message.chunked) {
      const to = Math.min(buffer.length, message.length - message.body.length);
      message.body += buffer.toString('latin1', 0, to);
      if (message.body.length === message.length) this.complete(message);
      return to;
    }
    const used = this.decoder.feed(buffer, 0, buffer.length, {
      bodyPiece: (bytes, from, to) => {
        message.body += bytes.toString('latin1', from, to);
      },
    });
    this.reading.fault = this.decoder.fault;
    message.trailers = this.decoder.trailers;
    if (this.decoder.done) this.complete(message);
    return used;
  }

  private complete(message: OurMessage): void {
    message.complete = true;
    this.message = null;
    this.closed = !message.persists;
  }
}

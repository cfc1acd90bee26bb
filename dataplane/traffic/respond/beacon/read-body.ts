import type { Attempt } from '../../exchange/attempt.ts';
import type { Exchange } from '../../exchange/exchange.ts';

/**
 * Reads a request's body of at most `limit` bytes for a response of the proxy itself; `then` gets null for a longer one, as soon as that is
 * known.
 */
export function readBody(x: Exchange, limit: number, then: (body: Buffer | null) => void): void {
  if (x.bodyLength > limit) return then(null);
  if (x.bodyLength === 0) return then(Buffer.alloc(0));
  x.attempt = new BodyReader(x, limit, then);
  x.client.streamBody(x);
}

class BodyReader implements Attempt {
  private readonly x: Exchange;
  private readonly limit: number;
  private readonly done: (body: Buffer | null) => void;
  private readonly pieces: Buffer[] = [];
  private bytes = 0;

  constructor(x: Exchange, limit: number, then: (body: Buffer | null) => void) {
    this.x = x;
    this.limit = limit;
    this.done = then;
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    if (this.x.attempt !== this) return true;
    this.bytes += to - from;
    if (this.bytes > this.limit) this.finish(null);
    // The buffer is reused.
    else this.pieces.push(Buffer.from(buffer.subarray(from, to)));
    return true;
  }

  bodyEnd(): void {
    if (this.x.attempt === this) this.finish(Buffer.concat(this.pieces));
  }

  resume(): void {
    // Nothing is sent before the whole body has been read.
  }

  cancel(): void {
    this.pieces.length = 0;
  }

  private finish(body: Buffer | null): void {
    this.x.attempt = null;
    this.done(body);
  }
}

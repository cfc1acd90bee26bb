import { Duplex } from 'node:stream';
import { ERROR } from '../../codec/http2/frames/frame.ts';
import type { Http2Stream } from '../../codec/http2/stream.ts';
import type { TunnelStream } from '../../exchange/exchange.ts';

const OK = 200;

/** A stream of a client as a tunnel uses it: a Duplex, with backpressure in both directions. */
export class TunnelDuplex extends Duplex implements TunnelStream {
  /** Whether the tunnel was accepted, so that the stream carries nothing else. */
  accepted = false;
  private readonly stream: Http2Stream;
  private written: (() => void) | null = null;
  private inputEnded = false;

  /** `onFault` is called with what is thrown in one of its methods, which end it. */
  constructor(stream: Http2Stream, onFault: (error: unknown) => void) {
    super();
    this.stream = stream;
    this.on('error', onFault);
  }

  accept(fields: string): void {
    this.accepted = true;
    this.stream.head({ status: OK, pseudo: null, lines: fields, length: -1 }, false);
  }

  get hasEnded(): boolean {
    return this.inputEnded && !this.stream.wasReset;
  }

  cancel(): void {
    this.stream.reset(ERROR.cancel);
  }

  release(): void {
    this.stream.release();
  }

  /** The client has sent a piece. */
  receive(piece: Buffer): void {
    if (!this.push(piece)) this.stream.pause();
  }

  /** The client has ended its side. */
  endInput(): void {
    this.inputEnded = true;
    this.push(null);
  }

  /** Most of what was written has been sent. */
  drained(): void {
    const { written } = this;
    this.written = null;
    written?.();
  }

  override _read(): void {
    this.stream.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.stream.write(chunk, 0, chunk.length)) done();
    else this.written = done;
  }

  override _final(done: () => void): void {
    this.stream.end('');
    done();
  }
}

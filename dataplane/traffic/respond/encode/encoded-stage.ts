import { guarded } from '../../exchange/faults.ts';
import type { BodySink, BodySource, BodyStage } from '../../exchange/filter.ts';
import { changedFields } from '../inject/page-head.ts';
import type { Coding, Zlib } from './codings.ts';

/** A body up to this many bytes that arrives as a whole is encoded in the worker's own thread, which takes less than a millisecond. */
const SMALL_BODY = 16_384;

/**
 * The body of one response, encoded. A small body is encoded in one step once it is complete. A larger or slower one is encoded by a stream
 * on the thread pool. Each piece from the upstream reaches the client without waiting for more: the encoder is flushed whenever it has
 * nothing left to do, so a body that arrives faster than it is encoded is never cut into small blocks.
 */
export class EncodedStage implements BodyStage {
  private readonly coding: Coding;
  private readonly next: BodySink;
  private readonly source: BodySource;
  private readonly release: () => void;
  /** Pieces that arrived before there was a stream. */
  private held: Buffer[] = [];
  private heldBytes = 0;
  private stream: Zlib | null = null;
  /** Pieces that the stream has not encoded yet. */
  private pending = 0;
  private wantsFlush = false;
  private ended = false;
  private trailers = '';
  private over = false;

  /** `release` returns the memory of the encoder. */
  constructor(coding: Coding, release: () => void, next: BodySink, source: BodySource) {
    this.coding = coding;
    this.release = release;
    this.next = next;
    this.source = source;
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    if (from === to || this.over) return true;
    this.wantsFlush = false;
    const piece = Buffer.from(buffer.subarray(from, to));
    if (this.stream !== null) return this.write(this.stream, piece);
    this.held.push(piece);
    this.heldBytes += piece.length;
    return this.heldBytes <= SMALL_BODY || this.begin();
  }

  flush(): void {
    if (this.over || this.ended) return;
    // The head need not wait for the body.
    if (this.stream === null && this.heldBytes === 0) return this.next.flush();
    if (this.stream === null) this.begin();
    this.wantsFlush = true;
    this.flushIdle();
  }

  end(trailers: string): void {
    this.ended = true;
    this.trailers = changedFields(trailers);
    if (this.stream !== null) {
      this.stream.end();
      return;
    }
    const whole = this.coding.whole(this.held.length === 1 ? (this.held[0] as Buffer) : Buffer.concat(this.held));
    this.next.body(whole, 0, whole.length);
    this.finish();
  }

  abort(): void {
    if (this.over) return;
    this.cancel();
    this.next.abort();
  }

  resume(): void {
    this.stream?.resume();
  }

  cancel(): void {
    this.over = true;
    this.held = [];
    this.stream?.destroy();
    this.release();
  }

  /** @returns whether the stream accepts more. */
  private begin(): boolean {
    const stream = this.coding.stream();
    this.stream = stream;
    this.on(stream, 'data', (piece: Buffer) => {
      if (!this.next.body(piece, 0, piece.length)) stream.pause();
    });
    this.on(stream, 'drain', () => this.source.resume());
    this.on(stream, 'end', () => this.finish());
    this.on(stream, 'error', () => this.abort());
    const { held } = this;
    this.held = [];
    return this.write(stream, Buffer.concat(held));
  }

  private write(stream: Zlib, piece: Buffer): boolean {
    this.pending++;
    return stream.write(
      piece,
      guarded(this.source, () => {
        this.pending--;
        this.flushIdle();
      }),
    );
  }

  private flushIdle(): void {
    if (!this.wantsFlush || this.pending > 0 || this.over || this.ended) return;
    this.wantsFlush = false;
    this.stream?.flush(
      this.coding.flush,
      guarded(this.source, () => {
        if (!this.over) this.next.flush();
      }),
    );
  }

  private finish(): void {
    if (this.over) return;
    this.cancel();
    this.next.end(this.trailers);
  }

  private on<A extends unknown[]>(stream: Zlib, event: string, act: (...values: A) => void): void {
    stream.on(
      event,
      guarded(this.source, (...values: A) => {
        if (!this.over) act(...values);
      }),
    );
  }
}

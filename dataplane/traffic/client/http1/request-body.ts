import { ChunkedDecoder, type ChunkSink } from '../../codec/http1/chunked.ts';
import type { Fault } from '../../codec/http1/fault.ts';
import type { Attempt } from '../../exchange/attempt.ts';
import { CHUNKED, type Exchange } from '../../exchange/exchange.ts';
import { isServedGrpc } from '../../exchange/grpc.ts';
import { endBody, hasToWait, passBody } from '../../exchange/request-body.ts';
import { MAX_COPIED, ReadBuffer } from '../../io/read-buffer.ts';
import { BodyPace } from '../body-pace.ts';
import { HeldBody } from '../held-body.ts';
import { HeldShare } from '../held-share.ts';

/** Bodies of known length up to this many bytes are buffered whole before the request is forwarded, as long as there is memory for them. */
const HOLD_BYTES = 65_536;

/** After this many reads of at least MAX_COPIED bytes in a row, a body is read into a buffer of its own, which saves a copy of each. */
const READS_BEFORE_OWN = 2;

const MODE = { none: 0, wait: 1, hold: 2, stream: 3, discard: 4 } as const;

/** What a body asks of its connection. */
export type BodyTools = {
  /** The upstream can't accept more yet. */
  pause(): void;
  discarded(bytes: number): void;
};

/**
 * The body of the request that a connection is serving: first it waits for a decision, then it is buffered whole,
 * streamed to an upstream, or dropped.
 */
export class RequestBody implements ChunkSink {
  fault: Fault | null = null;
  /** Bytes received so far, including framing. */
  received = 0;
  private readonly tools: BodyTools;
  private readonly buffer = new ReadBuffer();
  /** Its last reads that were large. */
  private largeReads = 0;
  private mode: number = MODE.none;
  private x: Exchange | null = null;
  private remaining = 0;
  private pace: BodyPace | null = null;
  private decoder: ChunkedDecoder | null = null;
  private held: HeldBody | null = null;
  private share: HeldShare | null = null;
  /** The attempt that a streaming body is sent to. */
  private receiver: Attempt | null = null;
  private whenHeld: ((x: Exchange) => void) | null = null;

  constructor(tools: BodyTools) {
    this.tools = tools;
  }

  /** Starts the body of a request whose head has just been read. */
  begin(x: Exchange): void {
    this.x = x;
    this.receiver = null;
    this.fault = null;
    this.remaining = x.bodyLength;
    this.received = 0;
    this.largeReads = 0;
    this.pace = null;
    x.bodyComplete = x.bodyLength === 0;
    this.mode = x.bodyComplete ? MODE.none : MODE.wait;
    if (x.bodyLength !== CHUNKED) return;
    this.decoder ??= new ChunkedDecoder('request');
    this.decoder.reset();
  }

  /** Bytes of the last feed that were framing. */
  get framing(): number {
    return this.remaining === CHUNKED && this.decoder !== null ? this.decoder.framing : 0;
  }

  /** Whether incoming bytes belong to a body. */
  get open(): boolean {
    return this.mode !== MODE.none;
  }

  /** Whether its recipient is still undecided, or the attempt that received it has ended without a response. */
  get waits(): boolean {
    if (this.mode !== MODE.stream) return this.mode === MODE.wait;
    return this.x !== null && hasToWait(this.x, this.receiver);
  }

  /** Where the client's next bytes are read to. Slow senders share one buffer: each would otherwise keep 64 KB, however little it sends. */
  nextBuffer(): Buffer {
    const next = this.buffer.next(this.open && this.largeReads >= READS_BEFORE_OWN, false);
    return (!this.open || this.waits) && ReadBuffer.isShared(next) ? ReadBuffer.common : next;
  }

  /** @returns bytes of the client that no later read overwrites: `bytes`, or a copy. */
  keep(bytes: Buffer): Buffer {
    return this.buffer.keep(bytes);
  }

  /** Reads from the front of `bytes`. @returns how many belonged to the body; check `fault`. */
  feed(bytes: Buffer): number {
    this.largeReads = bytes.length < MAX_COPIED ? 0 : this.largeReads + 1;
    const buffer = this.mode === MODE.discard ? bytes : this.keep(bytes);
    if (this.remaining !== CHUNKED) {
      const to = Math.min(buffer.length, this.remaining);
      this.remaining -= to;
      this.received += to;
      this.bodyPiece(buffer, 0, to);
      if (this.remaining === 0) this.complete('');
      return to;
    }
    const decoder = this.decoder as ChunkedDecoder;
    const to = decoder.feed(buffer, 0, buffer.length, this);
    this.received += to;
    this.fault = decoder.fault;
    if (decoder.done) this.complete(decoder.trailers);
    return to;
  }

  /**
   * Whether it arrives too slowly; called periodically. `held`: something other than the client causes the wait.
   * Clients that are already being answered may be slow, and so may gRPC calls, which have their own deadline.
   */
  tooSlow(now: number, held: boolean): boolean {
    const { x } = this;
    if (x === null || !this.open || x.status !== 0 || x.upgrade !== null) return false;
    this.pace ??= new BodyPace(now);
    const clientOnly = !held && !this.waits && (this.received > 0 || !x.expectsContinue);
    return this.pace.tooSlow(now, this.received, clientOnly) && !isServedGrpc(x);
  }

  bodyPiece(buffer: Buffer, from: number, to: number): void {
    if (this.mode === MODE.hold) this.held?.add(buffer.subarray(from, to));
    else if (this.mode === MODE.stream) {
      if (this.x !== null && !passBody(this.x, buffer, from, to)) this.tools.pause();
    } else this.tools.discarded(to - from);
  }

  /** Buffers a small body whole before `then`; @returns false, and does nothing, if it has to stream, or has begun to. */
  hold(x: Exchange, then: (x: Exchange) => void): boolean {
    if (x.bodyStart !== null || !this.waits || x.bodyLength === CHUNKED || x.bodyLength > HOLD_BYTES || x.expectsContinue) return false;
    this.share ??= new HeldShare();
    if (!this.share.reserve(x.bodyLength)) return false;
    this.mode = MODE.hold;
    this.held = new HeldBody(x.bodyLength);
    this.whenHeld = then;
    return true;
  }

  /** The body will not be sent again: the response has begun, or the exchange is over. */
  release(): void {
    this.share?.release();
  }

  stream(): void {
    if (!this.open) return;
    this.mode = MODE.stream;
    this.receiver = this.x?.attempt ?? null;
  }

  discard(): void {
    if (this.open) this.mode = MODE.discard;
    this.x = null;
  }

  /** Whether the rest is small enough to be read and discarded. A client that waits for a 100 may never send it. */
  get discardable(): boolean {
    if (!this.open) return true;
    return this.x?.expectsContinue !== true && this.remaining !== CHUNKED && this.remaining <= HOLD_BYTES;
  }

  private complete(trailers: string): void {
    const { mode, x } = this;
    this.mode = MODE.none;
    if (x === null) return;
    x.bodyComplete = true;
    if (mode === MODE.hold) {
      x.held = this.held?.whole ?? null;
      this.held = null;
      const then = this.whenHeld;
      this.whenHeld = null;
      then?.(x);
    } else if (mode === MODE.stream) endBody(x, trailers);
  }
}

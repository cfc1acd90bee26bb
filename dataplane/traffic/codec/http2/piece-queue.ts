import { countQueued, muchIsQueued, someIsQueued } from './limits/queued-requests.ts';

/** A sender with more than this queued pauses (bytes). */
const HIGH_WATER = 65_536;
/** The buffer that short pieces share (bytes). */
const TAIL = 16_384;

/** Pieces of a body that wait to be sent on a stream. */
export class PieceQueue {
  /** Their length in sum. */
  bytes = 0;
  private readonly pieces: Buffer[] = [];
  /** The buffer of the last piece if that was copied, and how much of it is in use. */
  private tail: Buffer | null = null;
  private tailUsed = 0;
  private ofRequest: boolean;

  /** `ofRequest`: whether they count in what the requests of the thread have waiting. */
  constructor(ofRequest: boolean) {
    this.ofRequest = ofRequest;
  }

  /** Whether their sender should pause. */
  get isFull(): boolean {
    return this.bytes >= (this.ofRequest && muchIsQueued() ? 1 : HIGH_WATER);
  }

  get first(): Buffer | undefined {
    return this.pieces[0];
  }

  /** Whether there is exactly one. */
  get hasOne(): boolean {
    return this.pieces.length === 1;
  }

  /** Adds the part of `piece` from `at` to `to`. Short pieces are in a buffer that is used again at once; a longer one is kept. */
  add(piece: Buffer, at: number, to: number, isShort: boolean): void {
    if (isShort || this.keepsMuch(to - at, piece.buffer.byteLength)) this.addCopy(piece, at, to);
    else this.pieces.push(piece.subarray(at, to));
    this.count(to - at);
  }

  /** Whether the part of a request would keep much more that was read with it, most of which may have been sent. */
  private keepsMuch(bytes: number, read: number): boolean {
    return this.ofRequest && (bytes * 4 < read || (bytes * 2 <= read && someIsQueued()));
  }

  /** Short pieces share a buffer, and become frames together: there may be thousands of them. */
  private addCopy(buffer: Buffer, from: number, to: number): void {
    const { pieces, tail } = this;
    const length = to - from;
    const last = pieces.at(-1);
    if (last !== undefined && tail !== null && last.buffer === tail.buffer && tail.length - this.tailUsed >= length) {
      buffer.copy(tail, this.tailUsed, from, to);
      pieces[pieces.length - 1] = tail.subarray(last.byteOffset - tail.byteOffset, this.tailUsed + length);
      this.tailUsed += length;
      return;
    }
    // No more than as much again as waits already: a few bytes of each of many requests take little.
    const fresh = Buffer.allocUnsafeSlow(Math.max(length, Math.min(TAIL, this.bytes)));
    buffer.copy(fresh, 0, from, to);
    this.tail = fresh;
    this.tailUsed = length;
    pieces.push(fresh.subarray(0, length));
  }

  /** This many bytes of the first piece have been sent. */
  sent(bytes: number): void {
    const { pieces } = this;
    const piece = pieces[0] as Buffer;
    this.count(-bytes);
    if (bytes < piece.length) {
      pieces[0] = piece.subarray(bytes);
      return;
    }
    pieces.shift();
    if (pieces.length === 0) this.tail = null;
  }

  /** None of them will be sent any more, but for what is being sent just now. */
  drop(): void {
    this.count(-this.bytes);
    this.ofRequest = false;
  }

  private count(bytes: number): void {
    this.bytes += bytes;
    if (this.ofRequest) countQueued(bytes);
  }
}

import { withinMemory } from '../../../../shared/runtime/thread-memory.ts';
import { AppendBuffer } from '../../io/append-buffer.ts';

/**
 * Larger bodies are not kept (bytes): more than the usual window (RFC 9113 6.9.2), what waits behind it before a client pauses, and the piece
 * that makes it pause.
 */
export const MAX_SENT = 196_608;
/** What all requests of a thread together may keep (bytes of memory). Beyond that, a request is sent once. */
const MAX_TOTAL = 67_108_864;
/** At most this part of the thread's memory. */
const PART = 16;
/** A first piece in a buffer of up to this many bytes is kept as it is. So is one of this length that takes half of its buffer. */
const SMALL_BUFFER = 16_384;
const NOTHING = Buffer.alloc(0);

let total = 0;

/** What has been sent of a body while it arrived, kept in case that the target turns out not to have processed the request. */
export class SentBody {
  private pieces: Buffer[] = [];
  private length = 0;
  private gathering: AppendBuffer | null = null;
  /** Whether the last piece is one of gathered ones. */
  private gathers = false;
  /** The memory that it takes of the total. */
  private counted = 0;

  /** `piece` must not be overwritten. @returns false if that is too much: it is of no use any more. */
  add(piece: Buffer): boolean {
    const { pieces } = this;
    this.length += piece.length;
    if (this.length > MAX_SENT) return false;
    const { byteLength } = piece.buffer;
    if ((pieces.length === 0 && byteLength <= SMALL_BUFFER) || (piece.length >= SMALL_BUFFER && piece.length * 2 >= byteLength)) {
      pieces.push(piece);
      this.gathers = false;
      return this.count(this.counted + byteLength);
    }
    this.gathering ??= new AppendBuffer(MAX_SENT);
    const last = this.gathers ? (pieces.pop() ?? NOTHING) : NOTHING;
    const gathered = this.gathering.join(last, piece);
    pieces.push(gathered);
    this.gathers = true;
    return this.count(this.counted - (last === NOTHING ? 0 : last.buffer.byteLength) + gathered.buffer.byteLength);
  }

  /** @returns whether the total is within its limit. */
  private count(memory: number): boolean {
    total += memory - this.counted;
    this.counted = memory;
    return total <= withinMemory(MAX_TOTAL, PART);
  }

  get whole(): Buffer {
    const [only = NOTHING] = this.pieces;
    return this.pieces.length > 1 ? Buffer.concat(this.pieces) : only;
  }

  /** It is no longer kept here. To be called once it is of no use. */
  drop(): void {
    this.count(0);
    this.pieces = [];
    this.length = 0;
    this.gathering = null;
    this.gathers = false;
  }
}

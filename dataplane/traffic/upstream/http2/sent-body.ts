import { withinMemory } from '../../../../shared/runtime/thread-memory.ts';
import { AppendBuffer } from '../../io/append-buffer.ts';

/** Larger bodies are not kept (bytes): more than the usual window (RFC 9113 6.9.2) and the piece that exceeds it. */
export const MAX_SENT = 131_072;
/** What all requests of a thread together may keep (bytes of memory). Beyond that, a request is sent once. */
const MAX_TOTAL = 67_108_864;
/** At most this part of the thread's memory. */
const PART = 16;
/** A first piece in a buffer of up to this many bytes is kept as it is. */
const SMALL_BUFFER = 16_384;
const NOTHING = Buffer.alloc(0);

let total = 0;

/** What has been sent of a body while it arrived, kept in case that the target turns out not to have processed the request. */
export class SentBody {
  private bytes: Buffer = NOTHING;
  private gathering: AppendBuffer | null = null;
  /** The memory that it takes of the total. */
  private counted = 0;

  /** `piece` must not be overwritten. @returns false if that is too much: it is of no use any more. */
  add(piece: Buffer): boolean {
    const { bytes } = this;
    if (bytes.length + piece.length > MAX_SENT) return false;
    if (bytes.length === 0 && piece.buffer.byteLength <= SMALL_BUFFER) this.bytes = piece;
    else {
      this.gathering ??= new AppendBuffer();
      this.bytes = this.gathering.join(bytes, piece);
    }
    return this.count(this.bytes.buffer.byteLength);
  }

  /** @returns whether the total is within its limit. */
  private count(memory: number): boolean {
    total += memory - this.counted;
    this.counted = memory;
    return total <= withinMemory(MAX_TOTAL, PART);
  }

  get whole(): Buffer {
    return this.bytes;
  }

  /** It is no longer kept here. To be called once it is of no use. */
  drop(): void {
    this.count(0);
    this.bytes = NOTHING;
    this.gathering = null;
  }
}

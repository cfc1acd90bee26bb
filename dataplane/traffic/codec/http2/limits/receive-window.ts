import { withinMemory } from '../../../../../shared/runtime/thread-memory.ts';
import { MAX_WINDOW } from '../frames/frame.ts';
import { muchIsQueued } from './queued-requests.ts';

/** The maximum growth of all windows of a thread together (bytes). */
const MAX_GROWTH = 67_108_864;
/** At most this part of the thread's memory. */
const PART = 16;

/** How much windows of the thread may be widened at once, all of them together (bytes). */
const MAX_WIDENED = 268_435_456;

let growth = 0;
let widened = 0;

/**
 * How much a peer may still send, on one stream or on all streams of its connection (RFC 9113 5.2). It grows while it is what limits the
 * peer, so that a fast upload over a long round trip isn't held up, as long as the thread's windows together have not grown too much, and
 * not much of what they have let in waits for targets.
 */
export class ReceiveWindow {
  /** The window announced to the peer, less what it has sent since. */
  private left: number;
  /** Consumed, and not announced yet. */
  private consumed = 0;
  /** Consumed since it was last decided whether it grows, and the least that was left meanwhile. */
  private passed = 0;
  private least = Number.POSITIVE_INFINITY;
  private readonly isShared: boolean;
  private size: number;
  private readonly maxSize: number;
  private grown = 0;
  private widened = 0;
  private released = false;

  /** Begins with `size` bytes, and grows to `maxSize`. `isShared`: by the streams of a connection. */
  constructor(size: number, maxSize: number, isShared = false) {
    this.isShared = isShared;
    this.left = size;
    this.size = size;
    this.maxSize = maxSize;
  }

  /** The peer has sent bytes. @returns false if they exceed the window. */
  receive(bytes: number): boolean {
    this.left -= bytes;
    return this.left >= 0;
  }

  /** What the peer has sent and has not been passed on. */
  get unread(): number {
    return this.size - this.left - this.consumed;
  }

  /** Bytes have been passed on, so their room is free. @returns by how much to open the window now; 0 if later. */
  consume(bytes: number): number {
    this.consumed += bytes;
    this.passed += bytes;
    this.least = Math.min(this.least, this.left);
    if (this.passed * 2 >= this.size) {
      // Half of it has been consumed, and the peer had already used most of the rest: it is waiting for us.
      if (this.least * 4 < this.size) this.grow();
      this.passed = 0;
      this.least = Number.POSITIVE_INFINITY;
    }
    // What is kept of some streams must not hold up others: then as much is free as the peer may still send.
    const isDue = this.consumed * 2 >= this.size || (this.isShared && this.consumed >= this.left);
    return isDue ? this.open() : 0;
  }

  /** The peer has sent more: that may be all that it may send, while much of it is kept. @returns by how much to open it now; 0 for not. */
  reopen(): number {
    return this.isShared && this.consumed >= this.left ? this.open() : 0;
  }

  /** Returns the consumed bytes to the window. @returns how many. */
  private open(): number {
    const more = this.consumed;
    this.consumed = 0;
    this.left += more;
    return more;
  }

  private grow(): void {
    if (this.released || muchIsQueued()) return;
    const more = Math.min(this.size, this.maxSize - this.size, withinMemory(MAX_GROWTH, PART) - growth, MAX_WINDOW - this.size);
    if (more <= 0) return;
    growth += more;
    this.grown += more;
    this.size += more;
    this.consumed += more;
  }

  /** Makes it this large at once, if there is memory for that. @returns by how much to open it now. */
  widen(size: number): number {
    const more = size - this.size;
    if (this.released || muchIsQueued() || more <= 0 || widened + more > withinMemory(MAX_WIDENED, PART)) return 0;
    widened += more;
    this.widened += more;
    this.least += more;
    this.size += more;
    this.left += more;
    return more;
  }

  /** It is no longer used. */
  release(): void {
    this.released = true;
    growth -= this.grown;
    widened -= this.widened;
    this.grown = 0;
    this.widened = 0;
  }
}

import { withinMemory } from '../../../shared/runtime/thread-memory.ts';

/** What bodies that a thread holds may have as announced lengths in all (bytes). */
const MOST = 268_435_456;
/** At most this part of the thread's memory. */
const PART = 8;
/** At least this much (bytes). */
const LEAST = 8_388_608;

let total = 0;

/**
 * How much of its thread's memory the body of one request has while it is held: from its head until its response begins. Clients that send
 * slowly, or wait for a target that does not respond, could otherwise fill the memory with 64 KB for each connection.
 */
export class HeldShare {
  private bytes = 0;

  /** @returns whether a body of this length may be held. Otherwise it has to be passed on as it arrives. */
  reserve(bytes: number): boolean {
    this.release();
    if (total + bytes > withinMemory(MOST, PART, LEAST)) return false;
    total += bytes;
    this.bytes = bytes;
    return true;
  }

  /** The body is no longer needed. May be called several times. */
  release(): void {
    total -= this.bytes;
    this.bytes = 0;
  }
}

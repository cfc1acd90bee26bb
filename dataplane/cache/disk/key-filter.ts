import { hashOf } from '../frequency-sketch.ts';

const COUNTERS = 2 ** 21;
/** A counter that has reached this value is never decremented. */
const FULL = 255;

/**
 * Which keys may be on disk: a counting Bloom filter in shared memory. The main thread reads it, so that a request for a response that is
 * not on disk never waits for the thread that owns the files. Only that thread writes it.
 */
export class KeyFilter {
  private readonly counters: Uint8Array;

  constructor(memory: SharedArrayBuffer) {
    this.counters = new Uint8Array(memory);
  }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(COUNTERS);
  }

  /** By the digest of a key. false: it is certainly not there. */
  has(digest: string): boolean {
    return placesOf(digest).every((place) => this.counters[place] !== 0);
  }

  add(digest: string): void {
    for (const place of placesOf(digest)) this.counters[place] = Math.min(FULL, (this.counters[place] as number) + 1);
  }

  remove(digest: string): void {
    for (const place of placesOf(digest)) {
      const count = this.counters[place] as number;
      if (count > 0 && count < FULL) this.counters[place] = count - 1;
    }
  }

  clear(): void {
    this.counters.fill(0);
  }
}

function placesOf(digest: string): readonly [number, number] {
  const hash = hashOf(digest);
  const other = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return [hash & (COUNTERS - 1), (other ^ (other >>> 13)) & (COUNTERS - 1)];
}

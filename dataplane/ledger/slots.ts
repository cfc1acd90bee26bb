/** Places that one key may stand in. A bucket never overflows into the next: no chains to break when a slot is freed. */
const BUCKET = 8;

/**
 * A lock-free table of fixed size in shared memory: keys to slots. A slot is claimed by one
 * compare-and-swap of its tag, so two workers that meet a new key at once agree on its place.
 */
export class Slots {
  readonly capacity: number;
  private readonly tags: Int32Array;
  private readonly buckets: number;

  /** `tags` has a power of two of entries, at least a bucket. */
  constructor(tags: Int32Array) {
    this.tags = tags;
    this.capacity = tags.length;
    this.buckets = tags.length / BUCKET;
  }

  /** The slot of a key, or -1. */
  find(place: number, tag: number): number {
    const first = (place & (this.buckets - 1)) * BUCKET;
    for (let slot = first; slot < first + BUCKET; slot++) if (Atomics.load(this.tags, slot) === tag) return slot;
    return -1;
  }

  /**
   * The slot of a key, claimed if it is new. When its bucket is full, the slot for which `idleFor` is
   * greatest is taken over: the others are in use, and a table of fixed size must forget something.
   */
  claim(place: number, tag: number, idleFor: (slot: number) => number, clear: (slot: number) => void): number {
    const first = (place & (this.buckets - 1)) * BUCKET;
    for (;;) {
      let stalest = first;
      let longest = -1;
      let taken = true;
      for (let slot = first; slot < first + BUCKET; slot++) {
        const seen = Atomics.load(this.tags, slot);
        if (seen === tag) return slot;
        if (seen === 0) {
          const was = Atomics.compareExchange(this.tags, slot, 0, tag);
          if (was === 0 || was === tag) return slot;
          taken = false;
          break;
        }
        const idle = idleFor(slot);
        if (idle > longest) {
          longest = idle;
          stalest = slot;
        }
      }
      if (!taken) continue;
      const owner = Atomics.load(this.tags, stalest);
      if (Atomics.compareExchange(this.tags, stalest, owner, tag) !== owner) continue;
      clear(stalest);
      return stalest;
    }
  }

  used(slot: number): boolean {
    return Atomics.load(this.tags, slot) !== 0;
  }

  free(slot: number): void {
    Atomics.store(this.tags, slot, 0);
  }
}

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
    for (;;) {
      // All of the bucket first: a place that was freed may stand before the one that the key has.
      const known = this.find(place, tag);
      if (known >= 0) return known;
      const slot = this.takeFree(place, tag) ?? this.takeStalest(place, tag, idleFor, clear);
      if (slot !== null) return slot;
    }
  }

  /** As `claim`, but takes over only a slot that is `idle`, and leaves it as it is. @returns -1 where the bucket has none. */
  claimIdle(place: number, tag: number, idle: (slot: number) => boolean): number {
    const first = (place & (this.buckets - 1)) * BUCKET;
    for (;;) {
      const known = this.find(place, tag);
      if (known >= 0) return known;
      const free = this.takeFree(place, tag);
      if (free !== null) return free;
      let slot = first;
      while (slot < first + BUCKET && !idle(slot)) slot++;
      if (slot === first + BUCKET) return -1;
      const owner = Atomics.load(this.tags, slot);
      if (owner === tag || Atomics.compareExchange(this.tags, slot, owner, tag) === owner) return slot;
    }
  }

  private takeFree(place: number, tag: number): number | null {
    const first = (place & (this.buckets - 1)) * BUCKET;
    for (let slot = first; slot < first + BUCKET; slot++) {
      const was = Atomics.compareExchange(this.tags, slot, 0, tag);
      if (was === 0 || was === tag) return slot;
    }
    return null;
  }

  /** @returns null when another thread was quicker: the key may be there by now. */
  private takeStalest(place: number, tag: number, idleFor: (slot: number) => number, clear: (slot: number) => void): number | null {
    const first = (place & (this.buckets - 1)) * BUCKET;
    let stalest = first;
    let longest = -1;
    for (let slot = first; slot < first + BUCKET; slot++) {
      const idle = idleFor(slot);
      if (idle <= longest) continue;
      longest = idle;
      stalest = slot;
    }
    const owner = Atomics.load(this.tags, stalest);
    // Another thread has just brought the same key here, and may have counted already.
    if (owner === tag) return stalest;
    if (Atomics.compareExchange(this.tags, stalest, owner, tag) !== owner) return null;
    clear(stalest);
    return stalest;
  }

  used(slot: number): boolean {
    return Atomics.load(this.tags, slot) !== 0;
  }

  free(slot: number): void {
    Atomics.store(this.tags, slot, 0);
  }
}

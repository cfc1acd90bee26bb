/** Slots per bucket. A bucket never overflows into the next, so freeing a slot breaks no chain. */
const BUCKET = 8;

/**
 * A lock-free hash table of fixed size in shared memory that maps keys to slots. A slot is claimed by one
 * compare-and-swap of its fingerprint, so two workers that insert the same new key at once agree on its slot.
 */
export class SharedHashTable {
  readonly capacity: number;
  private readonly fingerprints: Int32Array;
  private readonly buckets: number;

  /** The length of `fingerprints` must be a power of two and at least one bucket. */
  constructor(fingerprints: Int32Array) {
    this.fingerprints = fingerprints;
    this.capacity = fingerprints.length;
    this.buckets = fingerprints.length / BUCKET;
  }

  /** The slot of a key, or -1. */
  find(hash: number, fingerprint: number): number {
    const first = (hash & (this.buckets - 1)) * BUCKET;
    for (let slot = first; slot < first + BUCKET; slot++) if (Atomics.load(this.fingerprints, slot) === fingerprint) return slot;
    return -1;
  }

  /**
   * The slot of a key, claimed if the key is new. If its bucket is full, the slot with the greatest `idleFor`
   * is replaced.
   */
  findOrInsert(hash: number, fingerprint: number, idleFor: (slot: number) => number, clear: (slot: number) => void): number {
    for (;;) {
      // Search the whole bucket first: a free slot may come before the one that has the key.
      const known = this.find(hash, fingerprint);
      if (known >= 0) return known;
      const slot = this.insertFree(hash, fingerprint) ?? this.replaceStalest(hash, fingerprint, idleFor, clear);
      if (slot !== null) return slot;
    }
  }

  /** Like `findOrInsert`, but replaces only an `idle` slot, and does not clear it. @returns -1 if the bucket has none. */
  findOrReplaceIdle(hash: number, fingerprint: number, idle: (slot: number) => boolean): number {
    const first = (hash & (this.buckets - 1)) * BUCKET;
    for (;;) {
      const known = this.find(hash, fingerprint);
      if (known >= 0) return known;
      const free = this.insertFree(hash, fingerprint);
      if (free !== null) return free;
      let slot = first;
      while (slot < first + BUCKET && !idle(slot)) slot++;
      if (slot === first + BUCKET) return -1;
      const owner = Atomics.load(this.fingerprints, slot);
      if (owner === fingerprint || Atomics.compareExchange(this.fingerprints, slot, owner, fingerprint) === owner) return slot;
    }
  }

  private insertFree(hash: number, fingerprint: number): number | null {
    const first = (hash & (this.buckets - 1)) * BUCKET;
    for (let slot = first; slot < first + BUCKET; slot++) {
      const was = Atomics.compareExchange(this.fingerprints, slot, 0, fingerprint);
      if (was === 0 || was === fingerprint) return slot;
    }
    return null;
  }

  /** @returns null if another thread was faster; the key may be present by now. */
  private replaceStalest(
    hash: number,
    fingerprint: number,
    idleFor: (slot: number) => number,
    clear: (slot: number) => void,
  ): number | null {
    const first = (hash & (this.buckets - 1)) * BUCKET;
    let stalest = first;
    let longest = -1;
    for (let slot = first; slot < first + BUCKET; slot++) {
      const idle = idleFor(slot);
      if (idle <= longest) continue;
      longest = idle;
      stalest = slot;
    }
    const owner = Atomics.load(this.fingerprints, stalest);
    // Another thread has just inserted the same key here, and may have counted already.
    if (owner === fingerprint) return stalest;
    if (Atomics.compareExchange(this.fingerprints, stalest, owner, fingerprint) !== owner) return null;
    clear(stalest);
    return stalest;
  }

  used(slot: number): boolean {
    return Atomics.load(this.fingerprints, slot) !== 0;
  }

  free(slot: number): void {
    Atomics.store(this.fingerprints, slot, 0);
  }
}

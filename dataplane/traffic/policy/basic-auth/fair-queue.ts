/** If more keys than this wait, they are not all served in order of arrival. */
const CROWD = 8;

/** The keys that recently had trouble. */
export type TroubledKeys = {
  has(key: string): boolean;
  add(key: string): void;
  delete(key: string): void;
};

/**
 * A queue in which keys take turns, however many items each of them has. Keys with recent trouble come after all others. In a crowd of keys
 * that nothing is known about, every other turn goes to the key that came last. A newcomer then waits a turn or two rather than for the
 * whole crowd, and the key that has waited longest is still served.
 */
export class FairQueue<T> {
  private readonly perKey: number;
  private readonly trouble: TroubledKeys;
  /** By key, in order of their turns. */
  private readonly usual = new Map<string, T[]>();
  private readonly suspect = new Map<string, T[]>();
  /** Usual keys that have had no turn since they came, in order of arrival. */
  private readonly newcomers = new Set<string>();
  private newestIsNext = true;
  size = 0;

  /** `perKey`: the most items of one key that may wait. */
  constructor(perKey: number, trouble: TroubledKeys) {
    this.perKey = perKey;
    this.trouble = trouble;
  }

  /** Whether a key has as many items here as allowed. */
  full(key: string): boolean {
    return (this.usual.get(key)?.length ?? 0) + (this.suspect.get(key)?.length ?? 0) >= this.perKey;
  }

  enter(key: string, item: T): void {
    const suspect = this.trouble.has(key);
    const queues = suspect ? this.suspect : this.usual;
    const queue = queues.get(key);
    if (queue !== undefined) queue.push(item);
    else {
      queues.set(key, [item]);
      if (!suspect) this.newcomers.add(key);
    }
    this.size++;
  }

  /** Removes and returns the next item; null if the queue is empty. */
  next(): T | null {
    for (let key = this.usualNext(); key !== undefined; key = this.usualNext()) {
      // Another worker may have recorded trouble meanwhile.
      if (this.trouble.has(key)) {
        this.suspectFrom(key);
        continue;
      }
      this.newestIsNext = !this.newestIsNext;
      this.newcomers.delete(key);
      return this.shift(this.usual, key);
    }
    const [key] = this.suspect.keys();
    return key === undefined ? null : this.shift(this.suspect, key);
  }

  /**
   * Removes the last item of a key with trouble to make room for `key`. null if `key` itself has trouble, or if no key with trouble has an
   * item here.
   */
  evictSuspect(key: string): T | null {
    if (this.trouble.has(key)) return null;
    for (const [other, queue] of this.suspect) {
      const last = queue.pop();
      if (queue.length === 0) this.suspect.delete(other);
      if (last === undefined) continue;
      this.size--;
      return last;
    }
    return null;
  }

  /** Records trouble for the key. Its items now come after all others. */
  blame(key: string): void {
    this.trouble.add(key);
    this.suspectFrom(key);
  }

  /** Clears the key's trouble. */
  clear(key: string): void {
    this.trouble.delete(key);
  }

  /** Drops all items that `wanted` rejects. */
  keep(wanted: (item: T) => boolean): void {
    for (const queues of [this.usual, this.suspect])
      for (const [key, queue] of queues) {
        const left = queue.filter(wanted);
        this.size -= queue.length - left.length;
        if (left.length < queue.length) this.keepOnly(queues, key, left);
      }
  }

  private usualNext(): string | undefined {
    if (this.newestIsNext && this.usual.size > CROWD && this.newcomers.size > 0) return [...this.newcomers].at(-1);
    const [oldest] = this.usual.keys();
    return oldest;
  }

  private suspectFrom(key: string): void {
    const queue = this.usual.get(key);
    if (queue === undefined) return;
    this.keepOnly(this.usual, key, []);
    this.suspect.set(key, [...(this.suspect.get(key) ?? []), ...queue]);
  }

  /** Removes the first item of a key. The key's other items go to the back. */
  private shift(queues: Map<string, T[]>, key: string): T | null {
    const [first, ...rest] = queues.get(key) ?? [];
    queues.delete(key);
    if (rest.length > 0) queues.set(key, rest);
    if (first === undefined) return null;
    this.size--;
    return first;
  }

  private keepOnly(queues: Map<string, T[]>, key: string, left: T[]): void {
    if (left.length > 0) queues.set(key, left);
    else queues.delete(key);
    if (left.length === 0 && queues === this.usual) this.newcomers.delete(key);
  }
}

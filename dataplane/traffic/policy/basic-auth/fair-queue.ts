/** Where more keys than this wait, not all of them are served in the order in which they came. */
const CROWD = 8;

/** Which keys had trouble lately. */
export type Trouble = {
  has(key: string): boolean;
  add(key: string): void;
  delete(key: string): void;
};

/**
 * Who waits for a turn, by whom they belong to: keys take turns, however many each of them has here, and those that had
 * trouble lately come after all others. In a crowd that nothing is known of yet, every other turn is that of the key that came
 * last: a newcomer waits for a turn or two and not for all of theirs, and whoever has waited longest goes on as well.
 */
export class FairQueue<T> {
  private readonly perKey: number;
  private readonly trouble: Trouble;
  /** By key, the one whose turn it is first. */
  private readonly usual = new Map<string, T[]>();
  private readonly suspect = new Map<string, T[]>();
  /** Keys among the usual ones that have had no turn since they came, the last one last. */
  private readonly newcomers = new Set<string>();
  private newestIsNext = true;
  size = 0;

  /** `perKey`: how many of one key may wait. */
  constructor(perKey: number, trouble: Trouble) {
    this.perKey = perKey;
    this.trouble = trouble;
  }

  /** Whether a key has as many here as it may. */
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

  /** The one whose turn it is, no longer here; null where nobody waits. */
  next(): T | null {
    for (let key = this.usualNext(); key !== undefined; key = this.usualNext()) {
      // Another worker may have found out meanwhile.
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

  /** Takes out the last one of a key that had trouble, for the sake of `key`; null where that had some itself, or no other has one here. */
  giveWay(key: string): T | null {
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

  /** The key has had trouble: what it has here comes after all others. */
  blame(key: string): void {
    this.trouble.add(key);
    this.suspectFrom(key);
  }

  /** The key has shown that it means well. */
  clear(key: string): void {
    this.trouble.delete(key);
  }

  /** Drops whoever is not to be kept. */
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

  /** Takes the first one of a key; what else the key has waits behind all others. */
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

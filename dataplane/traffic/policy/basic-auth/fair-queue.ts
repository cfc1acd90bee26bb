/** Keys whose trouble is remembered; the one that had it longest ago is forgotten first. */
const MOST_REMEMBERED = 16_384;

/**
 * Who waits for a turn, by whom they belong to: keys take turns, however many each of them has here, and those that had
 * trouble lately come after all others.
 */
export class FairQueue<T> {
  private readonly perKey: number;
  private readonly troubleMs: number;
  private readonly now: () => number;
  /** By key, the one whose turn it is first. */
  private readonly usual = new Map<string, T[]>();
  private readonly suspect = new Map<string, T[]>();
  /** Until when, in the order in which it ends. */
  private readonly trouble = new Map<string, number>();
  size = 0;

  /** `perKey`: how many of one key may wait; `troubleMs`: how long trouble is remembered; `now` on the monotonic clock. */
  constructor(perKey: number, troubleMs: number, now: () => number) {
    this.perKey = perKey;
    this.troubleMs = troubleMs;
    this.now = now;
  }

  /** Whether a key has as many here as it may. */
  full(key: string): boolean {
    return (this.usual.get(key)?.length ?? 0) + (this.suspect.get(key)?.length ?? 0) >= this.perKey;
  }

  enter(key: string, item: T): void {
    const queues = this.troubled(key) ? this.suspect : this.usual;
    const queue = queues.get(key);
    if (queue === undefined) queues.set(key, [item]);
    else queue.push(item);
    this.size++;
  }

  /** The one whose turn it is, no longer here; null where nobody waits. */
  next(): T | null {
    return this.shift(this.usual) ?? this.shift(this.suspect);
  }

  /** Takes out the last one of a key that had trouble, for the sake of `key`; null where that had some itself, or no other has one here. */
  giveWay(key: string): T | null {
    if (this.troubled(key)) return null;
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
    this.trouble.delete(key);
    this.trouble.set(key, this.now() + this.troubleMs);
    if (this.trouble.size > MOST_REMEMBERED) for (const oldest of this.trouble.keys()) if (this.trouble.delete(oldest)) break;
    const queue = this.usual.get(key);
    if (queue === undefined) return;
    this.usual.delete(key);
    this.suspect.set(key, [...(this.suspect.get(key) ?? []), ...queue]);
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
        if (left.length === 0) queues.delete(key);
        else if (left.length < queue.length) queues.set(key, left);
      }
  }

  private troubled(key: string): boolean {
    const until = this.trouble.get(key);
    if (until === undefined) return false;
    if (this.now() < until) return true;
    this.trouble.delete(key);
    return false;
  }

  private shift(queues: Map<string, T[]>): T | null {
    for (const [key, queue] of queues) {
      const first = queue.shift();
      queues.delete(key);
      if (queue.length > 0) queues.set(key, queue);
      if (first === undefined) continue;
      this.size--;
      return first;
    }
    return null;
  }
}

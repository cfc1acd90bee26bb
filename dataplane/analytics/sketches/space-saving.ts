/** The approximate memory of a name besides its characters (bytes). */
const ENTRY_BYTES = 56;

/**
 * The most frequent names of a stream in fixed memory (Metwally, Agrawal and El Abbadi, "Efficient
 * computation of frequent and top-k elements in data streams", 2005). Exact for up to `capacity` names;
 * after that, a new name inherits the lowest count, so a count may be too high but never too low,
 * and no name with more than 1/capacity of the total is missed.
 */
export class SpaceSaving {
  /** The length of all names. */
  private characters = 0;
  private readonly counts = new Map<string, number>();
  private readonly capacity: number;
  /** The names that had the lowest count when it was last searched for, the next one to be evicted last. Others were higher, and stay so. */
  private lowest: string[] = [];
  private lowestCount = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  /** How many names are kept. */
  get size(): number {
    return this.counts.size;
  }

  /** Its approximate size in memory. */
  get bytes(): number {
    return this.counts.size * ENTRY_BYTES + this.characters;
  }

  add(name: string, count: number): void {
    const known = this.counts.get(name);
    if (known !== undefined) return void this.counts.set(name, known + count);
    this.characters += name.length;
    this.counts.set(name, this.counts.size < this.capacity ? count : count + this.evict());
  }

  merge(other: SpaceSaving): void {
    for (const [name, count] of other.counts) this.add(name, count);
  }

  /** The `most` most frequent names in descending order, ties by name. */
  top(most: number): [name: string, count: number][] {
    return [...this.counts].sort(([a, ofA], [b, ofB]) => ofB - ofA || (a < b ? -1 : 1)).slice(0, most);
  }

  /** Removes the least frequent name. @returns its count. */
  private evict(): number {
    let least = this.lowest.pop();
    while (least !== undefined && this.counts.get(least) !== this.lowestCount) least = this.lowest.pop();
    least ??= this.findLowest();
    this.counts.delete(least);
    this.characters -= least.length;
    return this.lowestCount;
  }

  /** Counts only grow, so one search finds all names that will be evicted before any other has to be. @returns the first of them. */
  private findLowest(): string {
    this.lowestCount = Number.POSITIVE_INFINITY;
    for (const [name, count] of this.counts) {
      if (count > this.lowestCount) continue;
      if (count < this.lowestCount) this.lowest = [];
      this.lowestCount = count;
      this.lowest.push(name);
    }
    return this.lowest.reverse().pop() ?? '';
  }
}

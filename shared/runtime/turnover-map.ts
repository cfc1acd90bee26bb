/** How many entries are added at least before the map is replaced. */
const FEWEST = 64;

/**
 * A map whose entries come and go with each request or connection.
 *
 * With a `Map`, nothing of what it ever held would be freed by the fast collections of young objects. A `Map` in which entries are replaced
 * moves to a new table from time to time, and the old table refers to the new one, for iterators. Once a full collection has moved the table
 * of the time to the old generation, it stays there until the next full collection, although nothing uses it any more, and keeps its
 * successors alive, with all that they refer to. A new `Map` has nothing to do with the old one. See
 * docs/decisions/0174-short-lived-objects-are-freed-by-young-collections.md.
 */
export class TurnoverMap<K, V> {
  private map = new Map<K, V>();
  /** How many entries may be added before it is replaced. */
  private room = FEWEST;

  get size(): number {
    return this.map.size;
  }

  get(key: K): V | undefined {
    return this.map.get(key);
  }

  has(key: K): boolean {
    return this.map.has(key);
  }

  set(key: K, value: V): void {
    if (this.room === 0) this.renew();
    this.room--;
    this.map.set(key, value);
  }

  delete(key: K): boolean {
    return this.map.delete(key);
  }

  /** The entries of now, in their order, without those that are deleted in the meantime. */
  *[Symbol.iterator](): Generator<readonly [key: K, value: V]> {
    for (const entry of [...this.map]) if (this.map.has(entry[0])) yield entry;
  }

  /** As `[Symbol.iterator]`. */
  *keys(): Generator<K> {
    for (const [key] of this) yield key;
  }

  /** As `[Symbol.iterator]`. */
  *values(): Generator<V> {
    for (const [, value] of this) yield value;
  }

  /** Takes as long as a `Map` takes to move to a new table, and is due about as often. */
  private renew(): void {
    this.map = new Map(this.map);
    this.room = Math.max(FEWEST, this.map.size);
  }
}

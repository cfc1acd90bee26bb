/** Visitors told apart per domain; further ones are not counted. About 80 bytes each. */
export const MAX_VISITORS = 100_000;
/** Over all domains, so that many hosts under one wildcard can't take the memory either. */
export const MAX_VISITORS_TOTAL = 1_000_000;

/** How many more visitors all domains together may hold. */
export type VisitorRoom = { left: number };
export const visitorRoom = (): VisitorRoom => ({ left: MAX_VISITORS_TOTAL });

/**
 * Distinct visitors of a domain: exact, a set of keyed 53-bit hashes, no address kept. A set grows with
 * its visitors, hence the two bounds; at a bound the number stands still instead of lying.
 */
export class Visitors {
  private readonly hashes = new Set<number>();
  private readonly room: VisitorRoom;

  constructor(room: VisitorRoom) {
    this.room = room;
  }

  get count(): number {
    return this.hashes.size;
  }

  add(hash: number): void {
    if (this.hashes.size >= MAX_VISITORS || this.room.left <= 0 || this.hashes.has(hash)) return;
    this.hashes.add(hash);
    this.room.left--;
  }

  /** Takes the other's visitors over and leaves it empty. */
  absorb(other: Visitors): void {
    other.room.left += other.hashes.size;
    for (const hash of other.hashes) this.add(hash);
    other.hashes.clear();
  }
}

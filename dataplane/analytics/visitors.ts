/** Maximum number of distinct visitors per domain; further ones are not counted. About 80 bytes each. */
export const MAX_VISITORS = 100_000;
/** Maximum number over all domains, so that many hosts under one wildcard can't exhaust memory either. */
export const MAX_VISITORS_TOTAL = 1_000_000;

/** The remaining capacity for visitors over all domains. */
export type VisitorRoom = { left: number };
export const visitorRoom = (): VisitorRoom => ({ left: MAX_VISITORS_TOTAL });

/**
 * Distinct visitors of a domain, counted exactly with a set of keyed 53-bit hashes; no address is kept. The set grows with
 * its visitors, hence the two bounds; at a bound the count stops instead of becoming wrong.
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

  /** Moves the other's visitors into this one. */
  absorb(other: Visitors): void {
    other.room.left += other.hashes.size;
    for (const hash of other.hashes) this.add(hash);
    other.hashes.clear();
  }
}

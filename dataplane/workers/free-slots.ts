/** The slots of the ledger that no worker has, and none that is about to start. */
export class FreeSlots {
  private readonly free: Set<number>;

  constructor(count: number) {
    this.free = new Set(Array(count).keys());
  }

  get none(): boolean {
    return this.free.size === 0;
  }

  /** The first one. @throws Error if there is none. */
  take(): number {
    if (this.none) throw new Error('more workers than slots in the ledger');
    const slot = Math.min(...this.free);
    this.free.delete(slot);
    return slot;
  }

  release(slot: number): void {
    this.free.add(slot);
  }
}

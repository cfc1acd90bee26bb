/**
 * Requests under way, one counter a worker slot and summed: a worker that dies takes no one else's
 * requests with it, and the main thread zeroes its slot.
 */
export class InFlight {
  private readonly counts: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.counts = new Int32Array(buffer);
  }

  static buffer(workers: number): SharedArrayBuffer {
    return new SharedArrayBuffer(workers * 4);
  }

  begin(slot: number): void {
    Atomics.add(this.counts, slot, 1);
  }

  end(slot: number): void {
    Atomics.sub(this.counts, slot, 1);
  }

  clear(slot: number): void {
    Atomics.store(this.counts, slot, 0);
  }

  total(): number {
    let total = 0;
    for (let slot = 0; slot < this.counts.length; slot++) total += Atomics.load(this.counts, slot);
    return total;
  }
}

/**
 * Requests in flight: one counter per worker slot, summed. When a worker dies, the main thread zeroes its counter,
 * and those of the others stay.
 */
export class InFlight {
  private readonly counts: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.counts = new Int32Array(buffer);
  }

  static buffer(workers: number): SharedArrayBuffer {
    return new SharedArrayBuffer(workers * 4);
  }

  begin(worker: number): void {
    Atomics.add(this.counts, worker, 1);
  }

  end(worker: number): void {
    Atomics.sub(this.counts, worker, 1);
  }

  clear(worker: number): void {
    Atomics.store(this.counts, worker, 0);
  }

  total(): number {
    let total = 0;
    for (let worker = 0; worker < this.counts.length; worker++) total += Atomics.load(this.counts, worker);
    return total;
  }
}

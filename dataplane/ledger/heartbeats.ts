/** One counter per worker slot, increased by its worker's event loop; a blocked loop stops increasing it. */
export class Heartbeats {
  private readonly beats: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.beats = new Int32Array(buffer);
  }

  static buffer(workers: number): SharedArrayBuffer {
    return new SharedArrayBuffer(workers * 4);
  }

  beat(worker: number): void {
    Atomics.add(this.beats, worker, 1);
  }

  read(worker: number): number {
    return Atomics.load(this.beats, worker);
  }
}

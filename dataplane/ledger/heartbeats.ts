/** One counter a worker slot, moved by its worker's event loop; a loop that hangs stops moving it. */
export class Heartbeats {
  private readonly beats: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.beats = new Int32Array(buffer);
  }

  static buffer(workers: number): SharedArrayBuffer {
    return new SharedArrayBuffer(workers * 4);
  }

  beat(slot: number): void {
    Atomics.add(this.beats, slot, 1);
  }

  read(slot: number): number {
    return Atomics.load(this.beats, slot);
  }
}

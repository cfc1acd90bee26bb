/** A copy may read and write so many bytes beyond the end of what is copied. */
const SLACK = 8;
/** From this length on, the call of a native function is faster than a loop. Measured for lines of 10 to 500 bytes. */
const LONG = 128;

/** Bytes with room for copies that go eight bytes at a time, which for a field line takes half the time of Buffer's method. */
export class ByteStore {
  bytes: Buffer;
  /** The same bytes. */
  view: DataView;

  /** A store without room allocates nothing. */
  constructor(room: number) {
    this.bytes = Buffer.allocUnsafeSlow(room === 0 ? 0 : room + SLACK);
    this.view = new DataView(this.bytes.buffer);
  }

  /** How many bytes it can hold. */
  get room(): number {
    return Math.max(0, this.bytes.length - SLACK);
  }

  /** Replaces the bytes by others with this room, which begin with the old ones in [from, to). */
  move(room: number, from: number, to: number): void {
    const { bytes } = this;
    this.bytes = Buffer.allocUnsafeSlow(room + SLACK);
    this.view = new DataView(this.bytes.buffer);
    bytes.copy(this.bytes, 0, from, to);
  }

  /** Copies [from, to) of another store to index `at`, where there must be room. What follows there is lost. */
  copy(source: ByteStore, from: number, to: number, at: number): void {
    if (to - from >= LONG) {
      source.bytes.copy(this.bytes, at, from, to);
      return;
    }
    const { view } = this;
    const its = source.view;
    let end = at;
    for (let next = from; next < to; next += SLACK, end += SLACK) {
      view.setInt32(end, its.getInt32(next, true), true);
      view.setInt32(end + 4, its.getInt32(next + 4, true), true);
    }
  }
}

/** A copy may read and write up to this many bytes beyond its end. */
const SLACK = 8;
/** From this length on (bytes), a native call is faster than a loop. Measured for lines of 10 to 500 bytes. */
const LONG = 128;

/** Bytes with slack, so that they can be copied eight at a time. For a field line, that takes half the time of Buffer's method. */
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

  /** Reallocates the bytes with this much room, and copies [from, to) to the beginning. */
  move(room: number, from: number, to: number): void {
    const { bytes } = this;
    this.bytes = Buffer.allocUnsafeSlow(room + SLACK);
    this.view = new DataView(this.bytes.buffer);
    bytes.copy(this.bytes, 0, from, to);
  }

  /** Copies [from, to) of another store to index `at`, where there must be room. Up to seven bytes after the copy are overwritten. */
  copy(source: ByteStore, from: number, to: number, at: number): void {
    if (to - from >= LONG) {
      source.bytes.copy(this.bytes, at, from, to);
      return;
    }
    const { view } = this;
    const sourceView = source.view;
    let end = at;
    for (let next = from; next < to; next += SLACK, end += SLACK) {
      view.setInt32(end, sourceView.getInt32(next, true), true);
      view.setInt32(end + 4, sourceView.getInt32(next + 4, true), true);
    }
  }
}

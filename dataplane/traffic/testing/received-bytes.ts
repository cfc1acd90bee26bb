/** Test support: bytes in the order in which they arrive. They are copied a constant number of times, however many are kept. */
export class ReceivedBytes {
  /** Those that have not been taken yet. */
  unread: Buffer = Buffer.alloc(0);
  /** Room for further bytes, in which `unread` ends at `end`. */
  private room: Buffer = Buffer.alloc(0);
  private end = 0;

  add(bytes: Buffer): void {
    const { length } = this.unread;
    if (length === 0) {
      this.unread = bytes;
      this.room = bytes;
      this.end = bytes.length;
      return;
    }
    if (this.end + bytes.length > this.room.length) {
      this.room = Buffer.allocUnsafe(2 * (length + bytes.length));
      this.end = this.unread.copy(this.room);
    }
    this.end += bytes.copy(this.room, this.end);
    this.unread = this.room.subarray(this.end - length - bytes.length, this.end);
  }

  /** Takes the first `count` of them, as Latin-1. */
  take(count: number): string {
    const text = this.unread.toString('latin1', 0, count);
    this.unread = this.unread.subarray(count);
    return text;
  }
}

/** Bytes that are at hand at once are kept in a room twice as large, up to this size of it where nothing else is said. */
const MOST_ROOM = 131_072;
const LEAST_ROOM = 1_024;
const NOTHING = Buffer.alloc(0);
/** Bytes of one incomplete head that may be looked at again and again; from then on only when it has doubled. */
const JUDGED_BYTES = 262_144;

/**
 * What has come of something that is not whole yet: bytes joined, and how far they have been looked at, so
 * that a head which arrives byte by byte costs no more than one that arrives at once, but for a constant.
 */
export class Gathering {
  /** Where the end of the head may still begin. */
  sought = 0;
  private room: Buffer = Buffer.alloc(0);
  private used = 0;
  private judgedLength = 0;
  private judgedBytes = 0;
  private readonly mostRoom: number;

  /** `mostRoom`: bytes up to which a room is twice as large as what it is made for. Beyond it every piece costs a copy. */
  constructor(mostRoom = MOST_ROOM) {
    this.mostRoom = mostRoom;
  }

  /** `bytes`, the result of an earlier call or not, and then `piece`. Nothing that was given out is overwritten. */
  join(bytes: Buffer, piece: Buffer): Buffer {
    const length = bytes.length + piece.length;
    let start = bytes.buffer === this.room.buffer ? bytes.byteOffset - this.room.byteOffset : -1;
    if (start < 0 || start + bytes.length !== this.used || start + length > this.room.length) {
      this.room = Buffer.allocUnsafeSlow(Math.max(LEAST_ROOM, length, Math.min(this.mostRoom, length * 2)));
      bytes.copy(this.room);
      start = 0;
    }
    this.used = start + length;
    piece.copy(this.room, start + bytes.length);
    return this.room.subarray(start, this.used);
  }

  /** `bytes` where they stay as they are: as they came from `join`, or else a copy. */
  keep(bytes: Buffer): Buffer {
    return bytes.buffer === this.room.buffer ? bytes : this.join(NOTHING, bytes);
  }

  /** Whether an incomplete head of this length (bytes) is to be looked at now; it counts as done. */
  worthJudging(length: number): boolean {
    if (this.judgedBytes > JUDGED_BYTES && length < this.judgedLength * 2) return false;
    this.judgedLength = length;
    this.judgedBytes += length;
    return true;
  }
}

const NOTHING = Buffer.alloc(0);
/** As much is taken for the pieces of a longer body (bytes), and then twice as much each time: what was announced may never come. */
const MIN_ROOM = 1_024;

/** A piece without what else was read with it, which would be kept with it and doesn't count as held. */
export function withoutRest(piece: Buffer): Buffer {
  if (piece.length * 2 >= piece.buffer.byteLength) return piece;
  // Buffer.from would take it from a pool, and keep that.
  const copy = Buffer.allocUnsafeSlow(piece.length);
  piece.copy(copy);
  return copy;
}

/** A small body that is buffered whole. Its pieces are merged: kept one by one, each would cost about a hundred bytes of overhead. */
export class HeldBody {
  private readonly length: number;
  private bytes: Buffer | null = null;
  private room: Buffer = NOTHING;

  /** `length`: what was announced (bytes), so that a body in pieces takes no more memory than that. */
  constructor(length: number) {
    this.length = length;
  }

  /** The first piece is kept without a copy and must not be overwritten. */
  add(piece: Buffer): void {
    const { bytes } = this;
    if (bytes === null) {
      this.bytes = piece;
      return;
    }
    const length = bytes.length + piece.length;
    if (length > this.room.length) {
      this.room = Buffer.allocUnsafeSlow(Math.max(length, Math.min(this.length, Math.max(MIN_ROOM, length * 2))));
      bytes.copy(this.room);
    }
    piece.copy(this.room, bytes.length);
    this.bytes = this.room.subarray(0, length);
  }

  get isEmpty(): boolean {
    return this.bytes === null;
  }

  get whole(): Buffer {
    return this.bytes ?? NOTHING;
  }
}

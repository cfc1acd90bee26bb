import { AppendBuffer } from '../io/append-buffer.ts';

const NOTHING = Buffer.alloc(0);

/** A small body that is buffered whole. Tiny pieces are merged: kept one by one, each would cost about a hundred bytes of overhead. */
export class HeldBody {
  private bytes: Buffer | null = null;
  private gathering: AppendBuffer | null = null;

  /** The first piece is kept without a copy and must not be overwritten. */
  add(piece: Buffer): void {
    if (this.bytes === null) this.bytes = piece;
    else {
      this.gathering ??= new AppendBuffer();
      this.bytes = this.gathering.join(this.bytes, piece);
    }
  }

  get whole(): Buffer {
    return this.bytes ?? NOTHING;
  }
}

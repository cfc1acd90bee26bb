import { Gathering } from '../io/gathering.ts';

const NOTHING = Buffer.alloc(0);

/** A small body that is buffered whole. Tiny pieces are merged: kept one by one, each would cost about a hundred bytes of overhead. */
export class HeldBody {
  private bytes: Buffer | null = null;
  private gathering: Gathering | null = null;

  /** The first piece is kept without a copy and must not be overwritten. */
  add(piece: Buffer): void {
    if (this.bytes === null) this.bytes = piece;
    else {
      this.gathering ??= new Gathering();
      this.bytes = this.gathering.join(this.bytes, piece);
    }
  }

  get whole(): Buffer {
    return this.bytes ?? NOTHING;
  }
}

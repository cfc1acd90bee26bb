import { Gathering } from '../io/gathering.ts';

const NOTHING = Buffer.alloc(0);

/** A small body that is taken whole. Pieces of a byte are not kept one by one: each would cost some hundred bytes beside itself. */
export class HeldBody {
  private bytes: Buffer | null = null;
  private gathering: Gathering | null = null;

  /** The first piece is kept as it is, and may not be overwritten. */
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

/** A piece of a body from this many bytes on is worth its own way (bytes). */
const LARGE = 1_024;

/**
 * Gathers what comes in tiny frames: a client may cut its body into single bytes, and each of them would be a chunk and a
 * write for the target. The first piece of a turn goes on at once, those that follow it in the same turn go together.
 */
export class SmallPieces {
  private readonly pass: (pieces: Buffer) => void;
  private kept: Buffer[] = [];
  private turnBegun = false;

  /** `pass` gets what was gathered. */
  constructor(pass: (pieces: Buffer) => void) {
    this.pass = pass;
  }

  /** @returns whether the piece waits for others; what came before it has gone on otherwise. */
  keep(piece: Buffer): boolean {
    if (piece.length >= LARGE) {
      this.flush();
      return false;
    }
    if (this.turnBegun) {
      this.kept.push(piece);
      return true;
    }
    this.turnBegun = true;
    setImmediate(this.turn);
    return false;
  }

  flush(): void {
    const { kept } = this;
    if (kept.length === 0) return;
    this.kept = [];
    this.pass(Buffer.concat(kept));
  }

  private readonly turn = (): void => {
    this.turnBegun = false;
    this.flush();
  };
}

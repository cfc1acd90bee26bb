import { AppendBuffer } from '../../io/append-buffer.ts';

/** Larger bodies are not kept (bytes): as much as is held of a body whose length is known. */
export const MAX_SENT = 65_536;
/** A first piece in a buffer of up to this many bytes is kept as it is. */
const SMALL_BUFFER = 16_384;
const NOTHING = Buffer.alloc(0);

/** What has been sent of a body while it arrived, kept in case that the target turns out not to have processed the request. */
export class SentBody {
  private bytes: Buffer = NOTHING;
  private gathering: AppendBuffer | null = null;

  /** `piece` must not be overwritten. @returns false if that is too much: it is of no use any more. */
  add(piece: Buffer): boolean {
    const { bytes } = this;
    if (bytes.length + piece.length > MAX_SENT) return false;
    if (bytes.length === 0 && piece.buffer.byteLength <= SMALL_BUFFER) this.bytes = piece;
    else {
      this.gathering ??= new AppendBuffer();
      this.bytes = this.gathering.join(bytes, piece);
    }
    return true;
  }

  get whole(): Buffer {
    return this.bytes;
  }
}

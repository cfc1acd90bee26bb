import { AppendBuffer } from '../../../io/append-buffer.ts';

const NOTHING = Buffer.alloc(0);

/** A header block that spans several frames: HEADERS and the CONTINUATION frames after it (RFC 9113 4.3). */
export class HeaderBlock {
  /** The stream of the block that is incomplete; 0 for none. */
  stream = 0;
  /** Whether the message ends with the block. */
  ends = false;
  private bytes: Buffer = NOTHING;
  private readonly gathering: AppendBuffer;
  private readonly maxBytes: number;

  /** `maxBytes`: the maximum size of a block. */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
    this.gathering = new AppendBuffer(maxBytes);
  }

  begin(stream: number, ends: boolean, fragment: Buffer): void {
    this.stream = stream;
    this.ends = ends;
    this.bytes = this.gathering.join(NOTHING, fragment);
  }

  /** @returns false if it becomes too large. */
  add(fragment: Buffer): boolean {
    if (this.bytes.length + fragment.length > this.maxBytes) return false;
    this.bytes = this.gathering.join(this.bytes, fragment);
    return true;
  }

  /** The whole block, which is complete. */
  drain(): Buffer {
    const { bytes } = this;
    this.bytes = NOTHING;
    this.stream = 0;
    return bytes;
  }
}

import { AppendBuffer } from '../../io/append-buffer.ts';

/** Larger bodies are not kept (bytes): as much as is held of a body whose length is known. */
export const MAX_SENT = 65_536;
const NOTHING = Buffer.alloc(0);

/** What has been sent of a body while it arrived, kept in case that the target turns out not to have processed the request. */
export class SentBody {
  private readonly gathering = new AppendBuffer();
  private bytes: Buffer | null = NOTHING;

  add(buffer: Buffer, from: number, to: number): void {
    const { bytes } = this;
    if (bytes === null) return;
    this.bytes = bytes.length + to - from > MAX_SENT ? null : this.gathering.join(bytes, buffer.subarray(from, to));
  }

  /** Null if it was too large. */
  get whole(): Buffer | null {
    return this.bytes;
  }
}

/** Most bytes that one read takes. */
const SIZE = 65_536;

/**
 * Where the reads of one upstream connection go. An answer's head, and with it most answers whole, is read into
 * one buffer that all connections of the worker share: nothing is allocated for it. A body that goes on is read
 * into a buffer of its own, which is used again unless the last piece has been kept.
 */
export class ReadBuffer {
  private static readonly shared = Buffer.allocUnsafeSlow(SIZE);
  private own: Buffer | null = null;

  /** For the next read. `inBody`: a body is being read; `kept`: somebody still holds the last piece. */
  next(inBody: boolean, kept: boolean): Buffer {
    if (!inBody) {
      this.own = null;
      return ReadBuffer.shared;
    }
    if (this.own === null || kept) this.own = Buffer.allocUnsafeSlow(SIZE);
    return this.own;
  }

  /** Where bytes go that nobody will look at. */
  static unread(): Buffer {
    return ReadBuffer.shared;
  }

  /** Whether bytes stand in the buffer that the next read of any connection overwrites. */
  static borrowed(bytes: Uint8Array): boolean {
    return bytes.buffer === ReadBuffer.shared.buffer;
  }
}

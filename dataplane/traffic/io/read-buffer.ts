/** Most bytes per read. */
const SIZE = 65_536;

/**
 * The buffers for reading one upstream connection. A response head, and with it most complete responses, is read into one buffer shared by
 * all connections of the worker, without an allocation. A longer body is read into the connection's own buffer, which is reused unless the
 * last piece has been kept.
 */
export class ReadBuffer {
  private static readonly shared = Buffer.allocUnsafeSlow(SIZE);
  private own: Buffer | null = null;

  /** The buffer for the next read. `inBody`: a body is being read; `kept`: the last piece is still in use. */
  next(inBody: boolean, kept: boolean): Buffer {
    if (!inBody) {
      this.own = null;
      return ReadBuffer.shared;
    }
    if (this.own === null || kept) this.own = Buffer.allocUnsafeSlow(SIZE);
    return this.own;
  }

  /** The buffer for bytes to discard. */
  static unread(): Buffer {
    return ReadBuffer.shared;
  }

  /** Whether bytes are in the shared buffer, which the next read of any connection overwrites. */
  static isShared(bytes: Uint8Array): boolean {
    return bytes.buffer === ReadBuffer.shared.buffer;
  }
}

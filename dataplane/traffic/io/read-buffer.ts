/** Most bytes per read. */
const SIZE = 65_536;
/** A kept piece of this size (bytes) may occupy a whole buffer. */
const MOST_COPIED = 32_768;
/** Beginnings of the shared buffer up to this length (bytes) are remembered. */
const MOST_REMEMBERED = 2_048;

/**
 * The buffers for reading one connection. A head, and with it most complete messages, is read into one buffer shared by all
 * connections of the worker, without an allocation. A longer body is read into the connection's own buffer, which is reused unless the last
 * piece has been kept.
 */
export class ReadBuffer {
  private static readonly shared = Buffer.allocUnsafeSlow(SIZE);
  /** The beginnings of the shared buffer, by length, each made once: a head is read for every message. */
  private static readonly beginnings: (Buffer | undefined)[] = Array.from({ length: MOST_REMEMBERED + 1 });
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

  /** @returns `bytes` if no later read overwrites them, or else a copy. A large piece is returned as it is and its buffer replaced. */
  keep(bytes: Buffer): Buffer {
    if (bytes.buffer === this.own?.buffer) {
      if (bytes.length < MOST_COPIED) return Buffer.from(bytes);
      this.own = null;
      return bytes;
    }
    return ReadBuffer.isShared(bytes) ? Buffer.from(bytes) : bytes;
  }

  /** The first `length` bytes of a buffer. */
  static beginning(buffer: Buffer, length: number): Buffer {
    if (buffer !== ReadBuffer.shared || length > MOST_REMEMBERED) return buffer.subarray(0, length);
    let bytes = ReadBuffer.beginnings[length];
    if (bytes === undefined) {
      bytes = buffer.subarray(0, length);
      ReadBuffer.beginnings[length] = bytes;
    }
    return bytes;
  }

  /** Whether bytes are in the shared buffer, which the next read of any connection overwrites. */
  static isShared(bytes: Uint8Array): boolean {
    return bytes.buffer === ReadBuffer.shared.buffer;
  }
}

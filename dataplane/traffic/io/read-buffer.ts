/** The maximum number of bytes per read. */
const SIZE = 65_536;
/** A kept piece of this size (bytes) may occupy a whole buffer. */
const MAX_COPIED = 32_768;
/** Beginnings of the shared buffer up to this length (bytes) are remembered. */
const MAX_REMEMBERED = 2_048;

/** Buffers of bodies that the worker keeps for the next ones. */
const MAX_SPARE = 8;

/** Buffers of bodies that have been read, and whose last bytes may not have been sent yet. */
const MAX_ENDED = 16;

/** A buffer whose bytes have been passed on, and the count of bytes passed on until then. */
type Lent = { readonly buffer: Buffer; readonly passed: number };

/** Sends what was read. `unsent`: bytes that it has not sent yet. */
type Receiver = { readonly unsent: number };

/**
 * The buffers for reading one connection. A head, and with it most complete messages, is read into one buffer shared by all connections of
 * the worker, without an allocation. A longer body is read into buffers of the connection's own, which are reused once what was in them has
 * been sent: buffers are outside V8's heap, and allocating many of them triggers full garbage collections.
 */
export class ReadBuffer {
  private static readonly shared = Buffer.allocUnsafeSlow(SIZE);
  /** The beginnings of the shared buffer, by length, each created once, because every message begins with one. */
  private static readonly beginnings: (Buffer | undefined)[] = Array.from({ length: MAX_REMEMBERED + 1 });
  /** Buffers that no connection uses. */
  private static readonly spare: Buffer[] = [];
  /** Those that no connection reads into any more, with the receivers of what is in them, the oldest first. */
  private static ended: { readonly buffer: Buffer; readonly receiver: Receiver }[] = [];
  private own: Buffer | null = null;
  /** Buffers whose bytes may not have been sent yet, the oldest first. */
  private lent: Lent[] = [];
  private passed = 0;

  /**
   * The buffer for the next read of a body whose pieces are sent on without being copied. `passed`: bytes that have been passed on so far;
   * `sent`: how many of them have been sent, so that the rest must not be overwritten.
   */
  nextOf(passed: number, sent: number): Buffer {
    const { own } = this;
    const isLent = own !== null && passed > Math.max(sent, this.passed);
    if (isLent) this.lent.push({ buffer: own, passed });
    this.passed = passed;
    this.reclaim(sent);
    if (own !== null && !isLent) return own;
    this.own = ReadBuffer.spare.pop() ?? ReadBuffer.sent() ?? Buffer.allocUnsafeSlow(SIZE);
    return this.own;
  }

  /** The body has been read and passed to `receiver`. The next read needs another buffer. */
  bodyEnds(receiver: Receiver): void {
    const { own, lent } = this;
    if (own === null) return;
    for (const { buffer } of lent) ReadBuffer.ended.push({ buffer, receiver });
    ReadBuffer.ended.push({ buffer: own, receiver });
    if (lent.length > 0) this.lent = [];
    this.own = null;
    if (ReadBuffer.ended.length > MAX_ENDED) ReadBuffer.ended = ReadBuffer.ended.slice(-MAX_ENDED);
  }

  /** @returns a buffer of a body that has ended and been sent. */
  private static sent(): Buffer | null {
    const at = ReadBuffer.ended.findIndex(({ receiver }) => receiver.unsent === 0);
    return at < 0 ? null : (ReadBuffer.ended.splice(at, 1)[0]?.buffer ?? null);
  }

  /** Makes buffers whose bytes have been sent available to all connections. */
  private reclaim(sent: number): void {
    const { lent } = this;
    let oldest = lent[0];
    while (oldest !== undefined && oldest.passed <= sent) {
      lent.shift();
      if (ReadBuffer.spare.length < MAX_SPARE) ReadBuffer.spare.push(oldest.buffer);
      oldest = lent[0];
    }
  }

  /** The buffer for the next read. `inBody`: a body is being read; `kept`: the last piece is still in use. */
  next(inBody: boolean, kept: boolean): Buffer {
    if (!inBody) {
      this.own = null;
      if (this.lent.length > 0) this.lent = [];
      return ReadBuffer.shared;
    }
    if (this.own === null || kept) this.own = Buffer.allocUnsafeSlow(SIZE);
    return this.own;
  }

  /** @returns `bytes` if no later read overwrites them, or else a copy. A large piece is returned as it is and its buffer replaced. */
  keep(bytes: Buffer): Buffer {
    if (bytes.buffer === this.own?.buffer) {
      if (bytes.length < MAX_COPIED) return Buffer.from(bytes);
      this.own = null;
      return bytes;
    }
    return ReadBuffer.isShared(bytes) ? Buffer.from(bytes) : bytes;
  }

  /** The buffer that all connections share. Bytes have to be copied from it before the next read. */
  static get common(): Buffer {
    return ReadBuffer.shared;
  }

  /** The first `length` bytes of a buffer. */
  static beginning(buffer: Buffer, length: number): Buffer {
    if (buffer !== ReadBuffer.shared || length > MAX_REMEMBERED) return buffer.subarray(0, length);
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

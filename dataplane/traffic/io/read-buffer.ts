import { withinMemory } from '../../../shared/runtime/thread-memory.ts';

/** Bytes per read, unless a body fills them. */
const SIZE = 65_536;
/** Bytes per read of a body that fills smaller buffers: the kernel takes less time for fewer and longer reads and writes. */
const LARGE_SIZE = 262_144;
/** Large buffers of a worker: senders that don't get one continue with the usual size, so slow clients keep at most so many of them. */
const MAX_LARGE = 64;
/** At most this part of the thread's memory. */
const PART = 32;
/** A read for heads is at most this part of the thread's memory, but at least so long (bytes): as long as a record of TLS. */
const HEAD_PART = 16_384;
const LEAST_HEAD = 16_384;
/** A read of a body of at least this many bytes has filled a buffer of the usual size, apart from what frames it. */
const FILLS = 60_000;
/** A sender whose read was shorter than this (bytes) no longer needs a large buffer. */
const NEEDS_LARGE = 32_768;
/** A kept piece of this size (bytes) may occupy a whole buffer; shorter ones are copied. */
export const MAX_COPIED = 32_768;
/** Beginnings of the shared buffer up to this length (bytes) are remembered. */
const MAX_REMEMBERED = 2_048;

/** Buffers of each size that the worker keeps for the next bodies. */
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
  private static forHeads = ReadBuffer.shared;
  /** The beginnings of the shared buffer, by length, each created once, because every message begins with one. */
  private static readonly beginnings: (Buffer | undefined)[] = Array.from({ length: MAX_REMEMBERED + 1 });
  /** Buffers that no connection uses. */
  private static readonly spare: Buffer[] = [];
  private static readonly spareLarge: Buffer[] = [];
  /** How many large buffers there are, in use or not. */
  private static large = 0;
  private static readonly freed = new FinalizationRegistry(() => ReadBuffer.large--);
  /** Those that no connection reads into any more, with the receivers of what is in them, the oldest first. */
  private static ended: { readonly buffer: Buffer; readonly receiver: Receiver }[] = [];
  private own: Buffer | null = null;
  /** Buffers whose bytes may not have been sent yet, the oldest first. */
  private lent: Lent[] = [];
  private passed = 0;

  /**
   * The buffer for the next read of a body whose pieces are sent on. `passed`: bytes that have been passed on so far; `sent`: how many of
   * them have been sent, so that the rest must not be overwritten. `lends`: whether any of the last pieces was passed on without being copied;
   * `mayGrow`: whether a body that fills its buffers gets larger ones.
   */
  nextOf(passed: number, sent: number, lends = true, mayGrow = true): Buffer {
    const { own } = this;
    const read = passed - this.passed;
    const isLent = own !== null && lends && read > 0 && passed > sent;
    if (isLent) this.lent.push({ buffer: own, passed });
    this.passed = passed;
    this.reclaim(sent);
    const size = mayGrow && own !== null && read >= (own.length === SIZE ? FILLS : NEEDS_LARGE) ? LARGE_SIZE : SIZE;
    if (own !== null && !isLent) {
      if (own.length === size || read === 0) return own;
      ReadBuffer.giveBack(own);
    }
    this.own = ReadBuffer.take(size);
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

  /** A buffer of this size, or a smaller one if there are too many large ones. */
  private static take(size: number): Buffer {
    const spare = size === SIZE ? ReadBuffer.spare : ReadBuffer.spareLarge;
    const used = spare.pop() ?? ReadBuffer.sent(size);
    if (used !== null) return used;
    if (size === SIZE) return Buffer.allocUnsafeSlow(SIZE);
    if ((ReadBuffer.large + 1) * LARGE_SIZE > withinMemory(MAX_LARGE * LARGE_SIZE, PART)) return ReadBuffer.take(SIZE);
    const buffer = Buffer.allocUnsafeSlow(LARGE_SIZE);
    ReadBuffer.large++;
    ReadBuffer.freed.register(buffer.buffer, undefined);
    return buffer;
  }

  /** @returns a buffer of a body that has ended and been sent. */
  private static sent(size: number): Buffer | null {
    const at = ReadBuffer.ended.findIndex(({ buffer, receiver }) => buffer.length === size && receiver.unsent === 0);
    return at < 0 ? null : (ReadBuffer.ended.splice(at, 1)[0]?.buffer ?? null);
  }

  /** Makes a buffer available to all connections. */
  private static giveBack(buffer: Buffer): void {
    const spare = buffer.length === SIZE ? ReadBuffer.spare : ReadBuffer.spareLarge;
    if (spare.length < MAX_SPARE) spare.push(buffer);
  }

  /** Makes buffers whose bytes have been sent available to all connections. */
  private reclaim(sent: number): void {
    const { lent } = this;
    let oldest = lent[0];
    while (oldest !== undefined && oldest.passed <= sent) {
      lent.shift();
      ReadBuffer.giveBack(oldest.buffer);
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

  /**
   * The buffer that all connections share, for reading heads. Bytes have to be copied from it before the next read. In a small container it is
   * shorter: a body that arrives with its head is kept while the request waits, and thousands of clients may have one.
   */
  static get common(): Buffer {
    const size = withinMemory(SIZE, HEAD_PART, LEAST_HEAD);
    if (ReadBuffer.forHeads.length !== size) ReadBuffer.forHeads = size === SIZE ? ReadBuffer.shared : ReadBuffer.shared.subarray(0, size);
    return ReadBuffer.forHeads;
  }

  /** The first `length` bytes of a buffer. */
  static beginning(buffer: Buffer, length: number): Buffer {
    if (length > MAX_REMEMBERED || !ReadBuffer.isShared(buffer)) return buffer.subarray(0, length);
    let bytes = ReadBuffer.beginnings[length];
    if (bytes === undefined) {
      bytes = buffer.subarray(0, length);
      ReadBuffer.beginnings[length] = bytes;
    }
    return bytes;
  }

  /** Whether bytes have to be copied if they are kept: the next read overwrites them, or they would keep a whole buffer. */
  static mustCopy(bytes: Uint8Array): boolean {
    return bytes.length < MAX_COPIED || ReadBuffer.isShared(bytes);
  }

  /** Whether bytes are in the shared buffer, which the next read of any connection overwrites. */
  static isShared(bytes: Uint8Array): boolean {
    return bytes.buffer === ReadBuffer.shared.buffer;
  }
}

/** The allocation is twice the bytes it must hold, up to this size, unless the constructor sets another limit. */
const MAX_DOUBLED = 131_072;
const MIN_ALLOCATION = 1_024;
const NOTHING = Buffer.alloc(0);
/** Bytes of one incomplete head that may be parsed repeatedly. Beyond that, it is parsed again only after it has doubled. */
const MAX_REPARSED = 262_144;

/**
 * Collects the bytes of an incomplete message and remembers how far they have been scanned. A head that arrives byte by byte costs only a
 * constant factor more than one that arrives at once.
 */
export class AppendBuffer {
  /** Where the end of the head may still begin. */
  scannedTo = 0;
  private allocation: Buffer = Buffer.alloc(0);
  private used = 0;
  private parsedLength = 0;
  private parsedBytes = 0;
  private readonly maxDoubled: number;

  /** `maxDoubled`: allocations up to this many bytes are doubled. Beyond it, every piece costs a copy. */
  constructor(maxDoubled = MAX_DOUBLED) {
    this.maxDoubled = maxDoubled;
  }

  /**
   * Returns `bytes` followed by `piece`. `bytes` need not be the result of an earlier call. Bytes that were returned earlier are never
   * overwritten.
   */
  join(bytes: Buffer, piece: Buffer): Buffer {
    const length = bytes.length + piece.length;
    let start = bytes.buffer === this.allocation.buffer ? bytes.byteOffset - this.allocation.byteOffset : -1;
    if (start < 0 || start + bytes.length !== this.used || start + length > this.allocation.length) {
      this.allocation = Buffer.allocUnsafeSlow(Math.max(MIN_ALLOCATION, length, Math.min(this.maxDoubled, length * 2)));
      bytes.copy(this.allocation);
      start = 0;
    }
    this.used = start + length;
    piece.copy(this.allocation, start + bytes.length);
    return this.allocation.subarray(start, this.used);
  }

  /** Returns `bytes` if `join` made them, or else a copy that nothing overwrites. */
  keep(bytes: Buffer): Buffer {
    return bytes.buffer === this.allocation.buffer ? bytes : this.join(NOTHING, bytes);
  }

  /** Whether to parse an incomplete head of this length (bytes) now. If so, the parse is counted. */
  shouldParse(length: number): boolean {
    if (this.parsedBytes > MAX_REPARSED && length < this.parsedLength * 2) return false;
    this.parsedLength = length;
    this.parsedBytes += length;
    return true;
  }
}

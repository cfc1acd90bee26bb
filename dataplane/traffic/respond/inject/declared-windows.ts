/*
 * The windows that coded bytes declare (bytes): a decoder allocates as much for a large page, which is known before it gets them.
 */

/** Follows the coded bytes of one page. */
export interface DeclaredWindows {
  /** @returns the largest window that has been declared so far; null if more bytes are needed to know the first one. */
  read(piece: Buffer): number | null;
}

/** In place of a window: the bytes are not of this coding. */
export const FOREIGN: number = Number.POSITIVE_INFINITY;

/** What a member of gzip begins with (RFC 1952 2.3.1). */
const GZIP_MAGIC = [0x1f, 0x8b] as const;

/** Gzip has no windows to declare (RFC 1951 2), but says what it is. With only one of its two bytes, it is taken for damaged. */
export class GzipWindows implements DeclaredWindows {
  private seen = 0;
  private isGzip = false;

  read(piece: Buffer): number | null {
    for (const byte of piece.subarray(0, GZIP_MAGIC.length - this.seen)) this.isGzip = byte === GZIP_MAGIC[this.seen++] || this.isGzip;
    if (this.isGzip) return 0;
    return this.seen < GZIP_MAGIC.length ? null : FOREIGN;
  }
}

/** A stream of Brotli declares its window in its first byte (RFC 7932 9.1). */
export class BrotliWindows implements DeclaredWindows {
  private window: number | null = null;

  read(piece: Buffer): number {
    this.window ??= 2 ** brotliBits(piece[0] as number);
    return this.window;
  }
}

function brotliBits(first: number): number {
  if ((first & 1) === 0) return 16;
  const three = (first >> 1) & 7;
  if (three !== 0) return 17 + three;
  const more = (first >> 4) & 7;
  // 1 is reserved: a decoder rejects it.
  return more < 2 ? 17 : 8 + more;
}

/** Frames that are skipped may come first (RFC 8878 3.1.2). A page is not kept for longer than this to know its window (bytes). */
const MOST_UNKNOWN = 4_096;
const FRAME_MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
/** The length of a block that repeats one byte is that of its content. */
const REPEATED = 1;

/** Each frame of Zstandard declares a window in its header, and a later one may be larger (RFC 8878 3.1). */
export class ZstdWindows implements DeclaredWindows {
  private window = 0;
  private known = false;
  private seen = 0;
  /** Bytes of the current header or number, which may come in several pieces. */
  private readonly header = Buffer.alloc(18);
  private filled = 0;
  private wanted = 4;
  private skipped = 0;
  private part: 'magic' | 'skippable' | 'descriptor' | 'header' | 'block' | 'other' = 'magic';
  private hasChecksum = false;

  read(piece: Buffer): number | null {
    for (let at = 0; at < piece.length && this.part !== 'other'; ) {
      const left = piece.length - at;
      if (this.skipped > 0) {
        const skipped = Math.min(this.skipped, left);
        this.skipped -= skipped;
        at += skipped;
        continue;
      }
      const copied = piece.copy(this.header, this.filled, at, Math.min(piece.length, at + this.wanted - this.filled));
      this.filled += copied;
      at += copied;
      if (this.filled === this.wanted) this.advance();
    }
    this.seen += piece.length;
    this.known ||= this.seen > MOST_UNKNOWN;
    return this.known ? this.window : null;
  }

  /** The header or number is complete. */
  private advance(): void {
    const { header } = this;
    switch (this.part) {
      case 'magic': {
        const magic = header.readUInt32LE();
        const isFrame = magic === FRAME_MAGIC;
        if (isFrame) return this.expect('descriptor', 1);
        if ((magic & ~15) === SKIPPABLE_MAGIC) return this.expect('skippable', 4);
        // A decoder rejects what is neither.
        this.known = true;
        return this.expect('other', 0);
      }
      case 'skippable':
        this.skipped = header.readUInt32LE();
        return this.expect('magic', 4);
      case 'descriptor':
        return this.expect('header', headerLength(header[0] as number), 1);
      case 'header':
        this.window = Math.max(this.window, windowIn(header));
        this.known = true;
        this.hasChecksum = ((header[0] as number) & 4) !== 0;
        return this.expect('block', 3);
      case 'block':
        return this.endBlockHeader(header.readUIntLE(0, 3));
    }
  }

  private endBlockHeader(block: number): void {
    const length = block >> 3;
    this.skipped = ((block >> 1) & 3) === REPEATED ? 1 : length;
    if ((block & 1) === 0) return this.expect('block', 3);
    if (this.hasChecksum) this.skipped += 4;
    this.expect('magic', 4);
  }

  private expect(part: ZstdWindows['part'], bytes: number, filled = 0): void {
    this.part = part;
    this.wanted = bytes;
    this.filled = filled;
  }
}

/** Of the header with its descriptor (bytes): the window, the dictionary's number and the size of the content follow, as far as present. */
function headerLength(descriptor: number): number {
  const single = (descriptor & 32) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3] as number;
  return 1 + (single ? 0 : 1) + dictionary + contentLength(descriptor, single);
}

const contentLength = (descriptor: number, single: boolean): number => [single ? 1 : 0, 2, 4, 8][descriptor >> 6] as number;

/** A frame in a single segment has no window: its content is kept as a whole. */
function windowIn(header: Buffer): number {
  const descriptor = header[0] as number;
  if ((descriptor & 32) === 0) {
    const base = 2 ** (10 + ((header[1] as number) >> 3));
    return base + (base / 8) * ((header[1] as number) & 7);
  }
  const bytes = contentLength(descriptor, true);
  const from = headerLength(descriptor) - bytes;
  if (bytes === 8) return Number(header.readBigUInt64LE(from));
  return header.readUIntLE(from, bytes) + (bytes === 2 ? 256 : 0);
}

import type { BrotliCompress, BrotliDecompress, Gunzip, Gzip, ZstdCompress, ZstdDecompress } from 'node:zlib';
import { zlib } from '../../../../shared/runtime/node-on-demand.ts';
import { guarded } from '../../exchange/faults.ts';
import type { BodySink, BodySource, BodyStage } from '../../exchange/filter.ts';
import type { EncoderMemory } from '../encode/memory.ts';
import { BrotliWindows, type DeclaredWindows, FOREIGN, GzipWindows, ZstdWindows } from './declared-windows.ts';
import { Insertion, type Page } from './insertion.ts';
import { changedFields } from './page-head.ts';

type Coding = {
  /** Memory of a decoder and an encoder (bytes), measured as growth of the process with 400 pages whose clients read nothing. */
  readonly cost: number;
  /** Reads what the decoder may need beyond that. */
  readonly windows: () => DeclaredWindows;
  /** The largest window of a page that is decoded (bytes). */
  readonly largest: number;
  readonly decoder: () => Zlib;
  readonly encoder: () => Zlib;
  /** The flush after which everything so far can be decoded. */
  readonly flush: number;
};
type Zlib = Gunzip | BrotliDecompress | ZstdDecompress | Gzip | BrotliCompress | ZstdCompress;

const KB = 1_024;
const NOTHING = Buffer.alloc(0);
/** Low, since a client waits for the page. */
const BROTLI_QUALITY = 4;
/** The window of the encoders (log2 of bytes): most pages are smaller, and each of a thousand slow clients may need one. */
const WINDOW = 18;
/** The largest window that clients must support, which bounds the memory of a decoder (RFC 9659 3; log2 of bytes). */
const ZSTD_WINDOW = 23;
/** How many bytes are decoded before the thread pool is asked for more. Asking costs more than decoding 16 KB, which is the default. */
const DECODED = { chunkSize: 65_536 };

/** How compressed pages are read and written, by their content coding (RFC 9110 8.4.1, RFC 7932, RFC 8878). */
function makeCodings(): ReadonlyMap<string, Coding> {
  const make = zlib();
  const { constants } = make;
  const gzip: Coding = {
    cost: 512 * KB,
    windows: () => new GzipWindows(),
    largest: 0,
    decoder: () => make.createGunzip(DECODED),
    encoder: () => make.createGzip(),
    flush: constants.Z_SYNC_FLUSH,
  };
  const brotli = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [constants.BROTLI_PARAM_LGWIN]: WINDOW };
  return new Map([
    ['gzip', gzip],
    ['x-gzip', gzip],
    [
      'br',
      {
        cost: 1_024 * KB,
        windows: () => new BrotliWindows(),
        largest: 2 ** 24,
        decoder: () => make.createBrotliDecompress(DECODED),
        encoder: () => make.createBrotliCompress({ params: brotli }),
        flush: constants.BROTLI_OPERATION_FLUSH,
      },
    ],
    [
      'zstd',
      {
        cost: 1_536 * KB,
        windows: () => new ZstdWindows(),
        largest: 2 ** ZSTD_WINDOW,
        decoder: () => make.createZstdDecompress({ ...DECODED, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW } }),
        encoder: () => make.createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: WINDOW } }),
        flush: constants.ZSTD_e_flush,
      },
    ],
  ]);
}

let codings: ReadonlyMap<string, Coding> | null = null;

export function codingOf(name: string): Coding | null {
  codings ??= makeCodings();
  return codings.get(name) ?? null;
}

/**
 * A compressed page: decoded, given its script, and encoded again in the same coding, on the thread pool. What the upstream flushes
 * reaches the client without waiting for more. A page whose decoder would need more memory than is left passes unchanged, and so does one
 * that is not coded at all, which clients can read that ignore the coding.
 */
export class RecodedPageStage implements BodyStage {
  private readonly next: BodySink;
  private readonly source: BodySource;
  private readonly coding: Coding;
  private readonly memory: EncoderMemory;
  private readonly page: Page;
  private readonly taken: (() => void)[];
  private readonly decoder: Zlib;
  private readonly encoder: Zlib;
  private readonly insertion: Insertion;
  private readonly windows: DeclaredWindows;
  private window = 0;
  private trailers = '';
  private empty = true;
  /** The beginning of the page, until its window is known. */
  private held = NOTHING;
  private begun = false;
  private unchanged = false;
  /** The coded page has ended; the upstream may send more. */
  private decoded = false;
  private encoded = false;
  /** The upstream's response has ended. */
  private ended = false;
  private over = false;

  constructor(coding: Coding, memory: EncoderMemory, page: Page, next: BodySink, source: BodySource) {
    this.coding = coding;
    this.memory = memory;
    this.page = page;
    this.taken = [memory.reserve(coding.cost)];
    this.windows = coding.windows();
    this.next = next;
    this.source = source;
    this.decoder = coding.decoder();
    this.encoder = coding.encoder();
    this.insertion = new Insertion(page, (buffer, from, to) => this.encoder.write(buffer.subarray(from, to)));
    this.on(this.decoder, 'data', (piece: Buffer) => {
      if (!this.insertion.body(piece, 0, piece.length)) this.decoder.pause();
    });
    this.on(this.encoder, 'drain', () => this.decoder.resume());
    this.on(this.decoder, 'drain', () => source.resume());
    this.on(this.decoder, 'end', () => this.endDecoded());
    this.on(this.encoder, 'data', (piece: Buffer) => {
      if (!next.body(piece, 0, piece.length)) this.encoder.pause();
    });
    this.on(this.encoder, 'end', () => {
      this.encoded = true;
      this.finish();
    });
    this.on(this.decoder, 'error', () => this.breakOff());
    this.on(this.encoder, 'error', () => this.abort());
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    if (from === to) return true;
    if (this.unchanged) return this.next.body(buffer, from, to);
    // Bytes after the end of the encoded page are not part of it.
    if (this.decoded) return true;
    const piece = Buffer.from(buffer.subarray(from, to));
    const window = this.windows.read(piece);
    this.empty = false;
    if (!this.begun) return this.begin(piece, window);
    if (this.reserve(window as number)) return this.decoder.write(piece);
    // A part of the page is with the client already.
    this.abort();
    return true;
  }

  /**
   * The encoded bytes are damaged or incomplete. Browsers show what they can decode of such a page, so the client gets that, but must not take
   * it for the whole page.
   */
  private breakOff(): void {
    this.decoded = true;
    this.insertion.end();
    this.encoder.flush(
      this.coding.flush,
      guarded(this.source, () => this.abort()),
    );
  }

  /** The decoder gets nothing before it is known what it will need. */
  private begin(piece: Buffer, window: number | null): boolean {
    this.held = Buffer.concat([this.held, piece]);
    if (window === null) return true;
    this.begun = true;
    if (this.reserve(window)) return this.decode();
    this.unchanged = true;
    this.page.request.beacon = window === FOREIGN ? 'coding' : 'memory';
    this.free();
    const { held } = this;
    return this.next.body(held, 0, held.length);
  }

  private decode(): boolean {
    const { held } = this;
    this.held = NOTHING;
    return this.decoder.write(held);
  }

  /** @returns whether there is memory for a window. */
  private reserve(window: number): boolean {
    const more = window - this.window;
    if (more <= 0) return true;
    if (window > this.coding.largest || !this.memory.has(more)) return false;
    this.taken.push(this.memory.reserve(more));
    this.window = window;
    return true;
  }

  flush(): void {
    if (this.unchanged) return this.next.flush();
    if (!this.begun || this.decoded) return;
    this.decoder.flush(
      this.coding.flush,
      guarded(this.source, () => {
        if (!this.over && !this.decoded)
          this.encoder.flush(
            this.coding.flush,
            guarded(this.source, () => {
              if (!this.over) this.next.flush();
            }),
          );
      }),
    );
  }

  end(trailers: string): void {
    this.ended = true;
    this.trailers = changedFields(trailers);
    if (this.empty || this.unchanged) this.encoded = true;
    else if (!this.decoded) {
      // It is incomplete, which the decoder reports.
      if (!this.begun) this.decode();
      this.decoder.end();
    }
    this.finish();
  }

  abort(): void {
    if (this.over) return;
    this.cancel();
    this.next.abort();
  }

  resume(): void {
    if (this.unchanged) this.source.resume();
    else this.encoder.resume();
  }

  cancel(): void {
    this.over = true;
    this.free();
  }

  private free(): void {
    this.decoder.destroy();
    this.encoder.destroy();
    for (const release of this.taken) release();
  }

  private on<A extends unknown[]>(stream: Zlib, event: string, act: (...values: A) => void): void {
    stream.on(
      event,
      guarded(this.source, (...values: A) => {
        if (!this.over) act(...values);
      }),
    );
  }

  private endDecoded(): void {
    this.decoded = true;
    this.decoder.destroy();
    this.insertion.end();
    this.encoder.end();
    // It may have been paused because the decoder accepted no more.
    this.source.resume();
  }

  private finish(): void {
    if (this.over || !this.ended || !this.encoded) return;
    this.cancel();
    this.next.end(this.trailers);
  }
}

import zlib from 'node:zlib';
import { guarded } from '../../exchange/faults.ts';
import type { BodySink, BodySource, BodyStage, FilteredRequest } from '../../exchange/filter.ts';
import type { ContentSecurityPolicy } from './content-security-policy.ts';
import { Insertion } from './insertion.ts';

const { constants } = zlib;

type Coding = {
  readonly decoder: () => Zlib;
  readonly encoder: () => Zlib;
  /** The flush after which everything so far can be decoded. */
  readonly flush: number;
};
type Zlib = zlib.Gunzip | zlib.BrotliDecompress | zlib.ZstdDecompress | zlib.Gzip | zlib.BrotliCompress | zlib.ZstdCompress;

const BROTLI_QUALITY = 4;
const GZIP: Coding = { decoder: () => zlib.createGunzip(), encoder: () => zlib.createGzip(), flush: constants.Z_SYNC_FLUSH };

/** How compressed pages are read and written, by their content coding (RFC 9110 8.4.1, RFC 7932, RFC 8878). */
const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['gzip', GZIP],
  ['x-gzip', GZIP],
  [
    'br',
    {
      decoder: () => zlib.createBrotliDecompress(),
      encoder: () => zlib.createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
      flush: constants.BROTLI_OPERATION_FLUSH,
    },
  ],
  ['zstd', { decoder: () => zlib.createZstdDecompress(), encoder: () => zlib.createZstdCompress(), flush: constants.ZSTD_e_flush }],
]);

export const codingOf = (name: string): Coding | null => CODINGS.get(name) ?? null;

/**
 * A compressed page: decoded, given its script, and encoded again in the same coding, on the thread pool. What the upstream flushes
 * reaches the client without waiting for more.
 */
export class RecodedPageStage implements BodyStage {
  private readonly next: BodySink;
  private readonly source: BodySource;
  private readonly coding: Coding;
  private readonly decoder: Zlib;
  private readonly encoder: Zlib;
  private readonly insertion: Insertion;
  private trailers = '';
  private over = false;

  constructor(coding: Coding, request: FilteredRequest, policies: readonly ContentSecurityPolicy[], next: BodySink, source: BodySource) {
    this.coding = coding;
    this.next = next;
    this.source = source;
    this.decoder = coding.decoder();
    this.encoder = coding.encoder();
    this.insertion = new Insertion(request, policies, (buffer, from, to) => this.encoder.write(Buffer.from(buffer.subarray(from, to))));
    const on = <A extends unknown[]>(stream: Zlib, event: string, act: (...values: A) => void) =>
      stream.on(
        event,
        guarded(source, (...values: A) => {
          if (!this.over) act(...values);
        }),
      );
    on(this.decoder, 'data', (piece: Buffer) => {
      if (!this.insertion.body(piece, 0, piece.length)) this.decoder.pause();
    });
    on(this.encoder, 'drain', () => this.decoder.resume());
    on(this.decoder, 'drain', () => source.resume());
    on(this.decoder, 'end', () => {
      this.insertion.end();
      this.encoder.end();
    });
    on(this.encoder, 'data', (piece: Buffer) => {
      if (!next.body(piece, 0, piece.length)) this.encoder.pause();
    });
    on(this.encoder, 'end', () => {
      this.over = true;
      next.end(this.trailers);
    });
    // The upstream's coding is damaged: the client must not take what it has for the whole page.
    on(this.decoder, 'error', () => this.abort());
    on(this.encoder, 'error', () => this.abort());
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    return this.decoder.write(Buffer.from(buffer.subarray(from, to)));
  }

  flush(): void {
    this.decoder.flush(
      this.coding.flush,
      guarded(this.source, () => {
        if (!this.over)
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
    this.trailers = trailers;
    this.decoder.end();
  }

  abort(): void {
    if (this.over) return;
    this.cancel();
    this.next.abort();
  }

  resume(): void {
    this.encoder.resume();
  }

  cancel(): void {
    this.over = true;
    this.decoder.destroy();
    this.encoder.destroy();
  }
}

import type { BrotliCompress, Gzip, ZstdCompress } from 'node:zlib';
import { FORMATS, type Format, type FormatName } from '../../../../shared/policy/encode/formats.ts';
import { zlib } from '../../../../shared/runtime/node-on-demand.ts';

export type Zlib = Gzip | BrotliCompress | ZstdCompress;

/** A content coding at one level. */
export type Coding = {
  readonly name: FormatName;
  /** Memory of a stream (bytes), measured as growth of the process with 40 streams, each of which had encoded 600 KB. */
  readonly cost: number;
  /** The flush after which everything so far can be decoded. */
  readonly flush: number;
  stream(): Zlib;
  /** Encodes a whole body in this thread. */
  whole(body: Buffer): Buffer;
};

/** The window of brotli and zstd (log2 of bytes): most pages are smaller, and each of a thousand slow clients may need one. */
const WINDOW = 18;

/**
 * The levels whose speed, and size for a page of 16 KB, are closest to gzip 5, which users of nginx and of Caddy's defaults are used to.
 */
const DEFAULT_LEVELS: { readonly [Name in FormatName]: number } = { zstd: 3, br: 4, gzip: 5 };

const KB = 1_024;

function gzip(level: number): Coding {
  const { constants, createGzip, gzipSync } = zlib();
  const options = { level };
  return {
    name: 'gzip',
    cost: 512 * KB,
    flush: constants.Z_SYNC_FLUSH,
    stream: () => createGzip(options),
    whole: (body) => gzipSync(body, options),
  };
}

function brotli(level: number): Coding {
  const { brotliCompressSync, constants, createBrotliCompress } = zlib();
  const params = { [constants.BROTLI_PARAM_QUALITY]: level, [constants.BROTLI_PARAM_LGWIN]: WINDOW };
  return {
    name: 'br',
    cost: (level < 4 ? 1_024 : level < 5 ? 1_536 : level < 6 ? 2_560 : 5_120) * KB,
    flush: constants.BROTLI_OPERATION_FLUSH,
    stream: () => createBrotliCompress({ params }),
    whole: (body) => brotliCompressSync(body, { params: { ...params, [constants.BROTLI_PARAM_SIZE_HINT]: body.length } }),
  };
}

function zstd(level: number): Coding {
  const { constants, createZstdCompress, zstdCompressSync } = zlib();
  const params = { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_windowLog]: WINDOW };
  return {
    name: 'zstd',
    cost: (level < 3 ? 1_024 : level < 4 ? 1_536 : level < 8 ? 6_144 : 12_288) * KB,
    flush: constants.ZSTD_e_flush,
    stream: () => createZstdCompress({ params }),
    whole: (body) => zstdCompressSync(body, { params }),
  };
}

const MAKERS: { readonly [Name in FormatName]: (level: number) => Coding } = { zstd, br: brotli, gzip };

/** The codings of a site or block, in the order of preference. */
export const codingsOf = (formats: readonly Format[] = FORMATS.map((name) => ({ name }))): readonly Coding[] =>
  formats.map(({ name, level = DEFAULT_LEVELS[name] }) => MAKERS[name](level));

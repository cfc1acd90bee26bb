/**
 * A bundle is a script that `npm run build` has made of many sources. Beside it is V8's code cache of it: what V8 compiled when the bundle was
 * built. V8 itself only compares its version, its flags and the lengths of script and cache, and a wrong cache can crash the process. So a bundle
 * begins with an id of its text, in a comment, and its cache with the same id and a checksum.
 */

/** Characters of an id. */
export const ID_LENGTH = 32;
const CHECKSUM_LENGTH = 8;
/** Bytes before V8's part of a cache: a multiple of 8, as V8 reads it in words. */
export const HEADER_LENGTH: number = ID_LENGTH + CHECKSUM_LENGTH;
/** Bytes from one word that the checksum includes to the next: it finds a page that was never written, at little cost to a start. */
const STRIDE = 512;
const COMMENT = '/*';

/** The text of a bundle with this id. */
export const withId = (id: string, script: string): string => `${COMMENT}${id}*/${script}`;

/** The id that a bundle begins with. */
export const idOf = (bundle: string): string => bundle.slice(COMMENT.length, COMMENT.length + ID_LENGTH);

/** What precedes V8's part of the code cache of a bundle, in ASCII. */
export function headerOf(bundle: string, cache: Buffer): string {
  let sum = cache.length;
  for (let at = 0; at + 4 <= cache.length; at += STRIDE) sum = (Math.imul(sum, 31) + cache.readUInt32LE(at)) >>> 0;
  return idOf(bundle) + sum.toString(16).padStart(CHECKSUM_LENGTH, '0');
}

/** Where the code cache of a bundle is. It contains instructions of V8's interpreter, whose numbers may differ between versions and processors. */
export const cachePathOf = (bundle: string): string => `${bundle}.${process.version}-${process.arch}.cache`;

/**
 * A bundle is a script that `npm run build` has made of many sources. Beside it is V8's code cache of it: what V8 compiled when the bundle was
 * built. V8 itself only compares its version, its flags and the length of the script, so both files begin with an id of the bundle's text: a
 * bundle in a comment, its cache with nothing else before it.
 */

/** Characters of an id, and bytes of it in a cache: a multiple of 8, as V8 reads the rest in words. */
export const ID_LENGTH = 32;
const COMMENT = '/*';

/** The text of a bundle with this id. */
export const withId = (id: string, script: string): string => `${COMMENT}${id}*/${script}`;

/** The id that a bundle begins with. */
export const idOf = (bundle: string): string => bundle.slice(COMMENT.length, COMMENT.length + ID_LENGTH);

/** Where the code cache of a bundle is. It contains instructions of V8's interpreter, whose numbers may differ between versions and processors. */
export const cachePathOf = (bundle: string): string => `${bundle}.${process.version}-${process.arch}.cache`;

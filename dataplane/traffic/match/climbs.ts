import { decodingsOf, POSSIBLE_END, POSSIBLE_SLASH } from './decoded.ts';

/** Rounds of decoding that a path may go through at an upstream. */
const ROUNDS = 3;

const SLASHES = new RegExp(`[/\\\\${String.fromCharCode(POSSIBLE_SLASH)}]`);
/** Bytes that are never valid in UTF-8, which some servers drop. */
const INVALID = /[\xc0\xc1]/g;
/** Where a segment may end for some server: at its parameters, at a query in disguise, or at a NUL. */
const END = new RegExp(`[;?#\\0${String.fromCharCode(POSSIBLE_END)}].*$`, 's');

/**
 * Whether a path has `..` as a segment for any server that reads it: with slashes, dots and backslashes decoded, also from overlong UTF-8
 * and forms that some servers take for them, and parameters and blanks removed. A path that a client has helped to write must not lead out
 * of the part that the site has written.
 */
export function climbs(path: string): boolean {
  if (!/%|\.\./.test(path)) return false;
  return (decodingsOf(path) ?? decodedLiterally(path)).some(hasParent);
}

const hasParent = (text: string): boolean =>
  text
    .replace(INVALID, () => '')
    .split(SLASHES)
    .some((segment) => segment.replace(END, () => '').trim() === '..');

/** For a path that must not be interpreted otherwise: each escape is one byte, and malformed ones stay as they are. */
function decodedLiterally(path: string): string[] {
  const texts = [path];
  for (let round = 0, read = path; round < ROUNDS; round++) {
    read = read.replace(/%(?:u00)?([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    texts.push(read);
  }
  return texts;
}

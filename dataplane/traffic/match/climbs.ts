import { decodingsOf, POSSIBLE_END, POSSIBLE_SLASH } from './decoded.ts';

/** Rounds of decoding that a path may go through at an upstream. */
const ROUNDS = 3;

/** Bytes that are never valid in UTF-8, which some servers drop. */
const INVALID = /[\xc0\xc1]/g;
const [SLASH, END] = [POSSIBLE_SLASH, POSSIBLE_END].map((code) => String.fromCharCode(code));
/** `..` between slashes, perhaps with blanks. A segment may end for some server at its parameters, at a query in disguise, or at a NUL. */
const PARENT = new RegExp(`(?:^|[/\\\\${SLASH}])\\s*\\.\\.\\s*(?:$|[/\\\\${SLASH};?#\\0${END}])`);

/**
 * Whether a path has `..` as a segment for any server that reads it: with slashes, dots and backslashes decoded, also from overlong UTF-8
 * and forms that some servers take for them, and parameters and blanks removed. A path that a client has helped to write must not lead out
 * of the part that the site has written.
 */
export function climbs(path: string): boolean {
  if (!/%|\.\./.test(path)) return false;
  return (decodingsOf(path) ?? decodedLiterally(path)).some(hasParent);
}

const hasParent = (text: string): boolean => PARENT.test(text.replace(INVALID, () => ''));

/**
 * For a path that must not be interpreted otherwise: malformed escapes stay as they are. What each round leaves is read like another path,
 * with the same substitutes for dots and slashes.
 */
function decodedLiterally(path: string): string[] {
  const texts = [path];
  for (let round = 0, read = path; round < ROUNDS; round++) {
    read = read.replace(/%(?:u([0-9a-f]{4})|([0-9a-f]{2}))/gi, (_, unit?: string, byte?: string) =>
      unit === undefined ? String.fromCharCode(Number.parseInt(byte as string, 16)) : utf8(Number.parseInt(unit, 16)),
    );
    texts.push(decodingsOf(withoutEscapes(read))?.at(-1) ?? '..');
  }
  return texts;
}

const utf8 = (unit: number): string => Buffer.from(String.fromCharCode(unit)).toString('latin1');

/** NUL, also in overlong forms, which ends a segment like `#`. */
const NUL = /\0|\xc0\x80|\xe0\x80\x80|\xf0\x80{3}|\xf8\x80{4}|\xfc\x80{5}/g;

/** Bytes as a path that may be interpreted: no escape has a percent sign of the text, and what is never valid has been dropped. */
const withoutEscapes = (text: string): string =>
  text
    .replace(/[\xc0\xc1](?![\x80-\xbf])/g, () => '')
    .replace(NUL, () => '#')
    .replaceAll('%', 'x')
    .replace(/[\x01-\x1f\x7f]/g, (control) => `%${Buffer.from(control).toString('hex')}`);

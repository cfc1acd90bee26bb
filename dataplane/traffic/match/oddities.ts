/**
 * What makes a path mean one thing here and another behind us, in a path whose unreserved characters are decoded:
 * parameters and backslashes, raw bytes, segments that end in dots or blanks (Windows trims them) or
 * begin with blanks, alternate data streams (`::$DATA`), escapes that become one of these, a slash, a question mark, a percent sign or a
 * control character, overlong UTF-8 (RFC 3629 10), and characters of which Windows and Unicode's compatibility forms make one of these.
 */
const ODD = new RegExp(
  [
    '[;\\\\\\x80-\\xff]',
    '\\.(?=/|$|%20)',
    '/%20',
    '%20(?=/|$|%20)',
    '(?::|%3A)(?::|%3A|\\$|%24)',
    '%(?:[01][0-9A-F]|2[35F]|3[BF]|5C|7F|C[01]|C2%A[05]|E0%[89]|E2%(?:80%A[4-6]|81%84|88%9[56])|EF%(?:B8%(?:99|B0)|B9%(?:92|A8)|B[CD])|F0%8|F[8C])',
    '%(?![0-9A-F]{2})',
  ].join('|'),
);
const ODD_OR_EMPTY = new RegExp(`${ODD.source}|//`);

/** Whether someone behind us may read another path than the one that patterns are asked about. Takes what `plainly` gives. */
export const isOdd = (path: string): boolean => ODD.test(path);

/** Everything in front of the first segment with an oddity, or of two slashes; it ends with a slash. */
export function beginningOf(path: string): string {
  const at = path.search(ODD_OR_EMPTY);
  return at < 0 ? path : path.slice(0, path.lastIndexOf('/', at) + 1) || '/';
}

/** The segments behind the last oddity, with the slash before them; empty where the last segment is odd itself. */
export function endOf(path: string): string {
  let from = path.length;
  while (from > 0) {
    const slash = path.lastIndexOf('/', from - 1);
    const isEmpty = slash === from - 1 && from < path.length;
    if (slash < 0 || isEmpty || ODD.test(path.slice(slash, from))) break;
    from = slash;
  }
  return path.slice(from);
}

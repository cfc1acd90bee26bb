/**
 * White space that upstreams may strip although HTTP does not define it as white space (RFC 9110 5.6.3): NEL and no-break space as single
 * bytes of Latin-1, and Unicode's spaces, line separators and byte order mark in UTF-8. The text is Latin-1, one character per byte.
 */
const UTF8 = '\\xc2[\\x85\\xa0]|\\xe1\\x9a\\x80|\\xe2\\x80[\\x80-\\x8b\\xa8\\xa9\\xaf]|\\xe2\\x81\\x9f|\\xe3\\x80\\x80|\\xef\\xbb\\xbf';
/** The last byte of a letter, as in `voil\xc3\xa0`. Stripping it leaves text that can't be mistaken for another value. */
const IN_A_LETTER = '(?<![\\xc3-\\xdf]|[\\xe0-\\xef][\\x80-\\xbf]|[\\xf0-\\xf4][\\x80-\\xbf]{2})';
const BLANK_EDGE = new RegExp(`^(?:[\\x85\\xa0]|${UTF8})|(?:${IN_A_LETTER}[\\x85\\xa0]|${UTF8})$`);

/**
 * Whether a field value begins or ends with such a byte or character. An application in Python, Java or .NET would strip it and see a
 * different value than every proxy before it.
 */
export const hasBlankEdge = (value: string): boolean => BLANK_EDGE.test(value);

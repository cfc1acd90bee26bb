/**
 * What somebody behind us takes for white space though HTTP does not (RFC 9110 5.6.3): Latin-1's NEL and no-break space as
 * bytes, and Unicode's spaces, line ends and byte order mark in UTF-8. Latin-1 text, a character for each byte.
 */
const UTF8 = '\\xc2[\\x85\\xa0]|\\xe1\\x9a\\x80|\\xe2\\x80[\\x80-\\x8b\\xa8\\xa9\\xaf]|\\xe2\\x81\\x9f|\\xe3\\x80\\x80|\\xef\\xbb\\xbf';
/** The last byte of a letter, as in `voil\xc3\xa0`: taken off, it leaves something that nobody takes for another word. */
const IN_A_LETTER = '(?<![\\xc3-\\xdf]|[\\xe0-\\xef][\\x80-\\xbf]|[\\xf0-\\xf4][\\x80-\\xbf]{2})';
const BLANK_EDGE = new RegExp(`^(?:[\\x85\\xa0]|${UTF8})|(?:${IN_A_LETTER}[\\x85\\xa0]|${UTF8})$`);

/**
 * Whether a field value begins or ends with such a byte or character: an application in Python, Java or .NET strips it, and
 * reads another value than everybody before it.
 */
export const hasBlankEdge = (value: string): boolean => BLANK_EDGE.test(value);

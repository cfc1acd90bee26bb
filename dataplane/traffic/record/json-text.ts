/** Every character with a special meaning in JSON or to a terminal that shows the log. */
const SPECIAL = /[^ !#-[\]-~]/;
const BEYOND_ASCII = /[^ -~]/g;

/**
 * A JSON string of bytes that were read as Latin-1. Bytes that are UTF-8 become its characters, others U+FFFD. The result is ASCII, so
 * nothing in a log can end a line, control a terminal, or change the direction of text.
 */
export function jsonText(bytes: string): string {
  return SPECIAL.test(bytes) ? escaped(Buffer.from(bytes, 'latin1').toString('utf8')) : `"${bytes}"`;
}

/** The same for text of our own. */
export function escaped(text: string): string {
  return JSON.stringify(text).replace(BEYOND_ASCII, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A range of bytes. */
export type TextRange = { readonly from: number; readonly to: number };

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Finds the elements of an array in a JSON object, one at a time and without parsing it, so that a long text can be read in pieces. The
 * text is as `JSON.stringify` writes it, without white space, and the elements are objects or arrays.
 *
 * @returns the range of the array with its brackets; null if the object has no such member, or it is no array.
 */
export function* elementsOf(bytes: Buffer, { from, to }: TextRange, member: string): Generator<TextRange, TextRange | null> {
  const name = Buffer.from(JSON.stringify(member));
  let depth = 0;
  let start = -1;
  let began = 0;
  for (let at = from; at < to; at++) {
    switch (bytes[at]) {
      case QUOTE: {
        const end = endOfString(bytes, at);
        const isMember = depth === 1 && start < 0 && bytes[end] === COLON && bytes[end + 1] === OPEN_ARRAY;
        if (isMember && bytes.subarray(at, end).equals(name)) start = end + 1;
        at = end - 1;
        break;
      }
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (start >= 0 && depth === 2) began = at;
        depth++;
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        depth--;
        if (start >= 0 && depth === 2) yield { from: began, to: at + 1 };
        if (start >= 0 && depth === 1) return { from: start, to: at + 1 };
    }
  }
  return null;
}

/** The place after the closing quote of the string that begins at `at`. */
function endOfString(bytes: Buffer, at: number): number {
  for (let next = at + 1; ; next++) {
    if (bytes[next] === QUOTE) return next + 1;
    if (bytes[next] === BACKSLASH) next++;
    else if (next >= bytes.length) return bytes.length;
  }
}

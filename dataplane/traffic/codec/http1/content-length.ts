import { withoutOws } from './protocols.ts';

const MAX_LENGTH_DIGITS = 16;

/** RFC 9110 8.6: only digits in `text[from, to)`, at most 16 of them, and at most 2^53-1. -1 for anything else. */
export function readLength(text: string, from = 0, to = text.length): number {
  if (to <= from || to - from > MAX_LENGTH_DIGITS) return -1;
  let length = 0;
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return -1;
    length = length * 10 + digit;
  }
  return length <= Number.MAX_SAFE_INTEGER ? length : -1;
}

/**
 * Like `readLength`, but also accepts a list of equal lengths, because several lines of one name may have been joined on the way (RFC 9110
 * 8.6).
 */
export function readLengths(text: string, from = 0, to = text.length): number {
  const length = readLength(text, from, to);
  if (length >= 0) return length;
  const [first = -1, ...others] = text
    .slice(from, to)
    .split(',')
    .map((part) => readLength(withoutOws(part)));
  return others.every((length) => length === first) ? first : -1;
}

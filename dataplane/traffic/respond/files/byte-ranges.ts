/** Bytes from `from` up to but not including `to`. */
export type ByteRange = { readonly from: number; readonly to: number };

/** More ranges are answered with the whole file, as are ranges that overlap (RFC 9110 14.2). */
const MAX_RANGES = 32;
/** Each range is at most two numbers of 16 and 20 digits: some clients write the greatest number that they know for the rest. */
const LONGEST_VALUE = 40 * MAX_RANGES + 16;

/**
 * Reads Range (RFC 9110 14.1.2, 14.2) for a file of `size` bytes. @returns null to ignore it, and an empty list if none of the ranges
 * lies within the file.
 */
export function rangesIn(value: string, size: number): readonly ByteRange[] | null {
  if (value.length > LONGEST_VALUE || !/^bytes=/i.test(value)) return null;
  const ranges: ByteRange[] = [];
  let count = 0;
  for (const part of value.slice('bytes='.length).split(',')) {
    const text = part.trim();
    if (text === '') continue;
    const [, first, last] = /^(\d{0,16})-(\d{0,20})$/.exec(text) ?? [];
    if (first === undefined || last === undefined || (first === '' && last === '')) return null;
    if (++count > MAX_RANGES) return null;
    if (first === '') {
      const length = Math.min(Number(last), size);
      if (length > 0) ranges.push({ from: size - length, to: size });
      continue;
    }
    if (last !== '' && Number(last) < Number(first)) return null;
    const from = Number(first);
    if (from < size) ranges.push({ from, to: last === '' ? size : Math.min(Number(last) + 1, size) });
  }
  if (count === 0) return null;
  const sorted = ranges.toSorted((one, other) => one.from - other.from);
  const overlaps = sorted.some(({ from }, at) => at > 0 && from < (sorted[at - 1] as ByteRange).to);
  return overlaps ? null : ranges;
}

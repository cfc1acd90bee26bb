import { parsePathPattern } from '../../config-file/path-pattern.ts';
import { parseRanges } from '../../private-ranges.ts';
import { accepted, type Parsed } from '../../values/parsed.ts';

export const MAX_EXCLUDED = 1_000;

/**
 * An argument of `exclude`: a path pattern if it begins with "/", otherwise an address, a range, or `private_ranges`, which stands for
 * several.
 */
export const parseExcluded = (text: string): Parsed<readonly string[]> => {
  if (!text.startsWith('/')) return parseRanges(text);
  const pattern = parsePathPattern(text);
  return pattern.ok ? accepted([pattern.value]) : pattern;
};

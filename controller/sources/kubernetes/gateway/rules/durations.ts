import { accepted, type Parsed, refused } from '../../../../../shared/values/parsed.ts';

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** Reads a duration of the Gateway API (GEP-2257), such as `1m30s`. @returns milliseconds. */
export function parseDuration(text: string): Parsed<number> {
  if (!/^(?:\d{1,5}(?:h|ms|m|s)){1,4}$/.test(text)) return refused(`${text} is not a duration such as 10s or 500ms`);
  let total = 0;
  for (const [, count = '', unit = ''] of text.matchAll(/(\d+)(h|ms|m|s)/g)) total += Number(count) * (UNITS[unit] ?? 0);
  return accepted(total);
}

import { accepted, type Parsed, refused } from './parsed.ts';

/** The highest per-address limit; the ledger counts up to this. */
export const MAX_RATE_PER_SECOND = 1_000_000;

/** Reads `<n>/s` into requests per second, 1 to 1,000,000. */
export function parseRate(text: string): Parsed<number> {
  const match = /^(\d{1,7})\/s$/.exec(text);
  if (!match) return refused('write a rate as <n>/s, for example 10/s');
  const rate = Number(match[1]);
  if (rate < 1 || rate > MAX_RATE_PER_SECOND) return refused(`a rate must be from 1/s to ${MAX_RATE_PER_SECOND}/s`);
  return accepted(rate);
}

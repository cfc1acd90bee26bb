import { accepted, type Parsed, refused } from './parsed.ts';

/** The highest limit per address and period; the ledger counts up to this. */
export const MAX_RATE = 1_000_000;

export const PERIOD_MS = { second: 1_000, minute: 60_000, hour: 3_600_000 } as const;
export type RatePeriod = keyof typeof PERIOD_MS;
export type Rate = { readonly requests: number; readonly period: RatePeriod };

const PERIODS: Readonly<Record<string, RatePeriod>> = { s: 'second', m: 'minute', h: 'hour' };

/** Reads `<n>/s`, `<n>/m` or `<n>/h`: 1 to 1,000,000 requests per second, minute or hour. */
export function parseRate(text: string): Parsed<Rate> {
  const match = /^(\d{1,7})\/([smh])$/.exec(text);
  const period = PERIODS[match?.[2] ?? ''];
  if (!match || period === undefined) return refused('write a rate as <n>/s, <n>/m or <n>/h, for example 10/s');
  const requests = Number(match[1]);
  if (requests < 1 || requests > MAX_RATE) return refused(`a rate must be from 1 to ${MAX_RATE}`);
  return accepted({ requests, period });
}

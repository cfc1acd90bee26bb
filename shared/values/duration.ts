import { accepted, type Branded, type Parsed, refused } from './parsed.ts';

/** A span of time in milliseconds. */
export type Milliseconds = Branded<number, 'Milliseconds'>;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a duration of whole seconds, `most` at most. @returns seconds. */
export function parseSeconds(text: string, most: number): Parsed<number> {
  const time = parseDuration(text);
  if (!time.ok) return time;
  return time.value % 1_000 === 0 && time.value <= most * 1_000 ? accepted(time.value / 1_000) : refused(`whole seconds, ${most}s at most`);
}

/** Reads `30s`, `500ms`, `1m30s`, `2h`, `1d`. A number without a unit is rejected as ambiguous. */
export function parseDuration(text: string): Parsed<Milliseconds> {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)) return refused('a duration is a number with a unit: 500ms, 30s, 5m, 2h, 1d');
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) total += Number(amount) * (UNITS[unit as string] as number);
  return Number.isSafeInteger(Math.round(total)) ? accepted(Math.round(total) as Milliseconds) : refused('it is too long');
}

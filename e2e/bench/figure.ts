export type Goal = { readonly direction: 'at least' | 'at most'; readonly limit: number };

/** A measured figure and its goal. */
export type Figure = {
  readonly what: string;
  readonly figure: number;
  readonly unit: string;
  /** How much rounds differ (see `spreadOf`); 0 for a single measurement. */
  readonly spread: number;
  /** null for a figure that only serves as a reference for others. */
  readonly goal: Goal | null;
};

export const atLeast = (what: string, figure: number, unit: string, limit: number, spread = 0): Figure => ({
  what,
  figure,
  unit,
  spread,
  goal: { direction: 'at least', limit },
});
export const atMost = (what: string, figure: number, unit: string, limit: number, spread = 0): Figure => ({
  what,
  figure,
  unit,
  spread,
  goal: { direction: 'at most', limit },
});
export const shown = (what: string, figure: number, unit: string, spread = 0): Figure => ({ what, figure, unit, spread, goal: null });

/** A figure that could not be measured meets no goal. */
export function isMet({ figure, goal }: Figure): boolean {
  if (goal === null) return true;
  return goal.direction === 'at least' ? figure >= goal.limit : figure <= goal.limit;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The value that a fraction `share` (0 to 1) of all values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.min(sorted.length, Math.ceil(share * sorted.length)) - 1)] ?? Number.NaN;
}

/** Half the distance between the quartiles, as a share of the median: half of all rounds are within it. 0 for fewer than two values. */
export function spreadOf(values: readonly number[]): number {
  if (values.length < 2) return 0;
  return (percentile(values, 0.75) - percentile(values, 0.25)) / 2 / Math.abs(median(values));
}

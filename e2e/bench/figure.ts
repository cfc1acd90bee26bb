/** A measured figure and its promised limit. */
export type Figure = {
  readonly what: string;
  readonly figure: number;
  readonly unit: string;
  readonly goal: string;
  readonly met: boolean;
};

export const atLeast = (what: string, figure: number, unit: string, goal: number): Figure => ({
  what,
  figure,
  unit,
  goal: `at least ${goal}`,
  met: figure >= goal,
});
export const atMost = (what: string, figure: number, unit: string, goal: number): Figure => ({
  what,
  figure,
  unit,
  goal: `at most ${goal}`,
  met: figure <= goal,
});

/** A figure without a promised limit, which gives others their scale. */
export const shown = (what: string, figure: number, unit: string): Figure => ({ what, figure, unit, goal: 'for comparison', met: true });

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The value that a fraction `share` (0 to 1) of all values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

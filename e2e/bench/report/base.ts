import { costOf } from '../contest/sample.ts';
import type { Figure } from '../figure.ts';
import { type BenchReport, type BenchResult, isContest } from './report.ts';
import { numeral } from './table.ts';

/** A value by which two runs can be compared. */
type Value = {
  readonly value: number;
  readonly unit: string;
  readonly spread: number;
  /** null if neither direction is an improvement. */
  readonly better: 'higher' | 'lower' | null;
};

/** How a value changed since an earlier run. */
export type FigureChange = {
  readonly what: string;
  readonly before: number;
  readonly now: number;
  readonly unit: string;
  readonly verdict: 'better' | 'worse' | 'same' | 'other';
};

/** Changes up to this share are noise even if the rounds of a run hardly differ. */
const NOISE = 0.02;

/** The values that both runs measured, in the order of the newer one. */
export function changesSince(base: BenchReport, report: BenchReport): FigureChange[] {
  const before = valuesOf(base);
  return [...valuesOf(report)].flatMap(([what, now]) => {
    const old = before.get(what);
    return old === undefined ? [] : [{ what, before: old.value, now: now.value, unit: now.unit, verdict: verdictOf(old, now) }];
  });
}

/** It is a change if it is larger than the spreads of both runs together. */
function verdictOf(old: Value, now: Value): FigureChange['verdict'] {
  if (now.better === null) return 'other';
  const allowed = Math.max(NOISE, old.spread + now.spread) * Math.abs(old.value);
  const gain = (now.better === 'higher' ? 1 : -1) * (now.value - old.value);
  if (Number.isNaN(gain)) return 'other';
  return gain > allowed ? 'better' : gain < -allowed ? 'worse' : 'same';
}

function valuesOf({ results }: BenchReport): Map<string, Value> {
  const values = new Map<string, Value>();
  for (const [name, measured] of Object.entries(results))
    for (const result of measured) for (const [what, value] of valuesIn(result)) values.set(`${name}: ${what}`, value);
  return values;
}

/** The values of a contest: its ratios, which depend least on the machine, and the rate, time and memory of Sluice. */
function valuesIn(result: BenchResult): [string, Value][] {
  if (!isContest(result)) return [[result.what, valueFrom(result)]];
  const [ours] = result.entries;
  const ratios = result.ratios.map((figure): [string, Value] => [figure.what, valueFrom(figure)]);
  if (ours === undefined) return ratios;
  const { what, unit } = result;
  const lower = (value: number, of: string, spread = 0): Value => ({ value, unit: of, spread, better: 'lower' });
  return [
    ...ratios,
    [`${what}: ${unit}/s`, { value: ours.perSecond, unit: `${unit}/s`, spread: ours.spread, better: 'higher' }],
    [`${what}: processor time of one`, lower(1e6 * costOf(ours), 'µs', ours.spread)],
    [`${what}: memory`, lower(ours.memory / 1_048_576, 'MiB', NOISE)],
  ];
}

const valueFrom = ({ figure, unit, spread, goal }: Figure): Value => ({
  value: figure,
  unit,
  spread,
  better: goal === null ? null : goal.direction === 'at least' ? 'higher' : 'lower',
});

/** The lines that the terminal shows. */
export function changesText(base: BenchReport, changes: readonly FigureChange[]): string {
  const lines = changes.map(
    ({ what, before, now, unit, verdict }) =>
      `  ${what.padEnd(90)} ${numeral(before).padStart(9)} → ${numeral(now).padStart(9)} ${unit.padEnd(10)} ${numeral(now / before).padStart(6)} x  ${{ better: 'better', worse: 'WORSE', same: '', other: '' }[verdict]}`,
  );
  return [`Compared with the run of ${base.date}:`, ...lines, ''].map((line) => `${line.trimEnd()}\n`).join('');
}

import { atLeast, type Figure, median, shown, spreadOf } from '../figure.ts';
import { basisOf, type Contest, entryOf, type Run, ratiosOf } from './contest.ts';

/** How many times as fast as each of the others the first should be, by name; `best` is the fastest of them. */
export type Goals = Readonly<Record<string, number>>;

/** Summarizes all results, and compares the first proxy with the others. */
export function judged(what: string, unit: string, runs: readonly Run[], goals: Goals): Contest {
  const [ours, ...others] = runs;
  if (ours === undefined) throw new Error(`${what}: nothing was measured`);
  const { basis, remarks } = basisOf(runs);
  const compared = others.map((other) => ({ name: other.name, ratios: ratiosOf(ours, other, basis) }));
  const ratios = compared.map((other) => ratioFigure(`${what}: ${ours.name}`, other, goals[other.name]));
  const best = compared.toSorted((one, other) => median(one.ratios) - median(other.ratios))[0];
  if (goals.best !== undefined && best !== undefined)
    ratios.push(ratioFigure(`${what}: ${ours.name}`, { name: `the best of them, ${best.name}`, ratios: best.ratios }, goals.best));
  return { what, unit, entries: runs.map(entryOf), ratios, remarks };
}

function ratioFigure(first: string, { name, ratios }: { name: string; ratios: readonly number[] }, goal: number | undefined): Figure {
  const title = `${first} against ${name}`;
  const [ratio, spread] = [median(ratios), spreadOf(ratios)];
  return goal === undefined ? shown(title, ratio, 'x', spread) : atLeast(title, ratio, 'x', goal, spread);
}

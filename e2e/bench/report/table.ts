import type { Contest, ContestEntry } from '../contest/contest.ts';
import { type Figure, isMet } from '../figure.ts';
import { type BenchResult, isContest } from './report.ts';

/** The lines that the terminal shows for a benchmark. */
export function tableOf(name: string, results: readonly BenchResult[]): string {
  const blocks = results.map((result) => (isContest(result) ? contestLines(result) : [figureLine(result)]));
  return [name, ...blocks.flat().map((line) => `  ${line}`), ''].map((line) => `${line.trimEnd()}\n`).join('');
}

function figureLine(figure: Figure): string {
  const { what, figure: value, unit, spread } = figure;
  return `${what.padEnd(72)} ${numeral(value).padStart(9)} ${unit.padEnd(6)} ${spreadText(spread).padEnd(8)} ${verdict(figure)}`;
}

function verdict(figure: Figure): string {
  const { goal } = figure;
  return goal === null ? '' : `${isMet(figure) ? 'ok    ' : 'MISSED'} (${goal.direction} ${goal.limit})`;
}

const NARROW = 10;

function contestLines({ what, unit, entries, ratios, remarks }: Contest): string[] {
  const hasCold = entries.some(({ cold }) => cold !== null);
  const hasLatency = entries.some(({ latency }) => latency !== null);
  const columns: readonly [title: string, cell: (entry: ContestEntry) => string][] = [
    [`${unit}/s`, ({ perSecond }) => numeral(perSecond)],
    ['', ({ spread }) => spreadText(spread)],
    ['user', ({ user }) => micros(user)],
    ['kernel', ({ kernel }) => micros(kernel)],
    ...(hasCold
      ? ([['cold', ({ cold }) => (cold === null ? '' : micros(cold))]] satisfies [string, (entry: ContestEntry) => string][])
      : []),
    ...(hasLatency
      ? ([
          ['p50', ({ latency }) => (latency === null ? '' : `${numeral(latency.p50)} ms`)],
          ['p99', ({ latency }) => (latency === null ? '' : `${numeral(latency.p99)} ms`)],
        ] satisfies [string, (entry: ContestEntry) => string][])
      : []),
    ['memory', ({ memory }) => `${Math.round(memory / 1_048_576)} MiB`],
  ];
  const wide = (index: number): number => (index === 0 ? `${unit}/s`.length + 2 : NARROW);
  const line = (first: string, cells: readonly string[]): string =>
    first.padEnd(18) + cells.map((cell, index) => cell.padStart(Math.max(NARROW, wide(index)))).join('');
  return [
    what,
    line(
      '',
      columns.map(([title]) => title),
    ),
    ...entries.map((entry) =>
      line(
        `${entry.name} ${entry.version ?? ''}`,
        columns.map(([, cell]) => cell(entry)),
      ),
    ),
    ...ratios.map((ratio) => figureLine({ ...ratio, what: ratio.what.replace(`${what}: `, '') })),
    ...remarks,
  ];
}

const micros = (seconds: number): string => (seconds < 1e-3 ? `${numeral(seconds * 1e6)} µs` : `${numeral(seconds * 1e3)} ms`);
const spreadText = (spread: number): string => (spread > 0 ? `± ${(100 * spread).toFixed(1)} %` : '');

/** With two decimal places below 10, one below 100, and thousands in groups. */
export function numeral(value: number): string {
  if (!Number.isFinite(value)) return 'not measured';
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

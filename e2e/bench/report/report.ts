import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import type { Contest } from '../contest/contest.ts';
import { hindrances, PLACEMENT, type Placement } from '../contest/placement.ts';
import type { Timing } from '../contest/rounds.ts';
import type { Figure } from '../figure.ts';

/** What a benchmark measures: a single figure, or a contest of several proxies. */
export type BenchResult = Figure | Contest;

export const isContest = (result: BenchResult): result is Contest => 'entries' in result;

/** Everything that one run measured. */
export type BenchReport = {
  readonly format: typeof FORMAT;
  /** When it began, by RFC 3339. */
  readonly date: string;
  readonly machine: Machine;
  readonly timing: Timing;
  readonly results: Readonly<Record<string, readonly BenchResult[]>>;
};

type Machine = {
  readonly processor: string;
  readonly cores: number;
  readonly kernel: string;
  readonly node: string;
  readonly placement: Placement;
  readonly hindrances: readonly string[];
};

const FORMAT = 'sluice-bench-1';

export function newReport(timing: Timing): BenchReport {
  const processors = cpus();
  const machine = {
    processor: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    kernel: /^\d+\.\d+/.exec(release())?.[0] ?? release(),
    node: process.version,
    placement: PLACEMENT,
    hindrances: hindrances(PLACEMENT),
  };
  return { format: FORMAT, date: new Date().toISOString(), machine, timing, results: {} };
}

/** Members that are numbers: null in JSON if they could not be measured. */
const MEASURED: ReadonlySet<string> = new Set(['figure', 'perSecond', 'spread', 'user', 'kernel', 'memory', 'p50', 'p99']);

export function writeReport(path: string, report: BenchReport): void {
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
}

/** @throws if the file is not a report of this format. */
export function readReport(path: string): BenchReport {
  const report: unknown = JSON.parse(readFileSync(path, 'utf8'), (name, value: unknown) =>
    value === null && MEASURED.has(name) ? Number.NaN : value,
  );
  if (typeof report !== 'object' || report === null || !('format' in report) || report.format !== FORMAT)
    throw new Error(`${path} is not a report of npm run bench in the format ${FORMAT}`);
  return report as BenchReport;
}

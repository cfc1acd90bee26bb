import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import type { Contest } from '../contest/contest.ts';
import { hindrances, PLACEMENT, type Placement } from '../contest/placement.ts';
import type { Timing } from '../contest/rounds.ts';
import type { Figure } from '../figure.ts';

/** What a benchmark measures: single figures, or contests of several proxies. */
export type Outcome = Figure | Contest;

export const isContest = (outcome: Outcome): outcome is Contest => 'entries' in outcome;

/** Everything that one run measured. */
export type Report = {
  readonly format: typeof FORMAT;
  /** When it began, by RFC 3339. */
  readonly date: string;
  readonly machine: Machine;
  readonly timing: Timing;
  readonly results: Readonly<Record<string, readonly Outcome[]>>;
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

export function newReport(timing: Timing): Report {
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

/** Numbers that could not be measured are null in JSON. */
export function writeReport(path: string, report: Report): void {
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
}

/** @throws if the file is not a report of this format. */
export function readReport(path: string): Report {
  const report: unknown = JSON.parse(readFileSync(path, 'utf8'), (_, value: unknown) => (value === null ? null : value));
  if (typeof report !== 'object' || report === null || !('format' in report) || report.format !== FORMAT)
    throw new Error(`${path} is no report of npm run bench in the format ${FORMAT}`);
  return report as Report;
}

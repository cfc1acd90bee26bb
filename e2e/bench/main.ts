import { writeFileSync } from 'node:fs';
import { installForBenchmarks } from '../components.ts';
import { BENCHMARKS, type BenchmarkName } from './benchmarks.ts';
import { installedProxies, PEER_NAMES } from './contenders/peers.ts';
import { isMet } from './figure.ts';
import { type BenchOptions, readOptions, USAGE } from './options.ts';
import { changesSince, changesText } from './report/base.ts';
import { pictureOf } from './report/picture.ts';
import { type BenchReport, type BenchResult, isContest, newReport, readReport, writeReport } from './report/report.ts';
import { tableOf } from './report/table.ts';

/** npm run bench: compares speed and memory with the goals and with other proxies, all in one run on one machine. */
function optionsOrExit(): BenchOptions {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    const unknown = options.names.find((name) => !Object.hasOwn(BENCHMARKS, name));
    if (unknown === undefined) return options;
    throw new Error(`There is no benchmark "${unknown}"; there are: ${Object.keys(BENCHMARKS).join(', ')}`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

const print = (text: string): boolean => process.stdout.write(text);

async function measure({ names, timing }: BenchOptions): Promise<BenchReport> {
  if (process.env.TESTED_BUILD === undefined) throw new Error('start it with npm run bench, which builds what is measured');
  installForBenchmarks();
  const report = newReport(timing);
  const here = installedProxies().map(({ name }) => name);
  const missing = PEER_NAMES.filter((name) => !here.includes(name));
  if (missing.length > 0) process.stderr.write(`Not compared, because they are not installed: ${missing.join(', ')}.\n`);
  for (const hindrance of report.machine.hindrances) process.stderr.write(`${hindrance}\n`);
  const results: Record<string, readonly BenchResult[]> = {};
  for (const name of (names.length > 0 ? names : Object.keys(BENCHMARKS)) as BenchmarkName[]) {
    results[name] = await BENCHMARKS[name](timing);
    print(tableOf(name, results[name]));
  }
  return { ...report, results };
}

const options = optionsOrExit();
const base = options.base === null ? null : readReport(options.base);
const report = options.from === null ? await measure(options) : readReport(options.from);
if (options.from !== null) for (const [name, results] of Object.entries(report.results)) print(tableOf(name, results));
if (options.json !== null) writeReport(options.json, report);
if (options.svg !== null) writeFileSync(options.svg, pictureOf(report));
const changes = base === null ? [] : changesSince(base, report);
if (base !== null) print(changesText(base, changes));

const figures = Object.values(report.results).flatMap((results) => results.flatMap((one) => (isContest(one) ? one.ratios : [one])));
const isFine = figures.every(isMet) && changes.every(({ verdict }) => verdict !== 'worse');
process.exitCode = isFine ? 0 : 1;

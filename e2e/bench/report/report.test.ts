import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Folder } from '../../testing/dataplane.ts';
import { Program, REPOSITORY } from '../../testing/process.ts';
import type { ContestEntry } from '../contest/contest.ts';
import { atLeast, atMost, shown } from '../figure.ts';
import { changesSince } from './base.ts';
import { pictureOf } from './picture.ts';
import { type BenchReport, type BenchResult, readReport, writeReport } from './report.ts';
import { numeral, tableOf } from './table.ts';

const entry = (name: string, perSecond: number): ContestEntry => ({
  name,
  version: null,
  perSecond,
  spread: 0.01,
  user: 0.5 / perSecond,
  kernel: 0.5 / perSecond,
  cold: 2 / perSecond,
  latency: null,
  memory: 2 ** 20,
});
const contest = (ours: number): BenchResult => ({
  what: 'small <responses>',
  unit: 'requests',
  entries: [entry('sluice', ours), entry('nginx', 50_000)],
  ratios: [atLeast('small <responses>: sluice against nginx', ours / 50_000, 'x', 1, 0.01)],
  remarks: [],
});

function report(results: Readonly<Record<string, readonly BenchResult[]>>): BenchReport {
  const placement = { proxy: 0, load: 1, upstream: 1, second: null };
  const machine = { processor: 'A & B', cores: 2, kernel: '6.1', node: 'v26', placement, hindrances: [] };
  return { format: 'sluice-bench-1', date: '2026-11-24T10:00:00.000Z', machine, timing: { rounds: 5, seconds: 3 }, results };
}

const verdicts = (before: BenchResult, now: BenchResult): string[] =>
  changesSince(report({ a: [before] }), report({ a: [now] })).map(({ verdict }) => verdict);

test('a change is one beyond the spreads of both runs', () => {
  const memory = (figure: number) => atMost('memory', figure, 'MiB', 10, 0.03);
  assert.deepEqual(verdicts(memory(100), memory(105)), ['same']);
  assert.deepEqual(verdicts(memory(100), memory(107)), ['worse']);
  assert.deepEqual(verdicts(memory(100), memory(93)), ['better']);
  assert.deepEqual(verdicts(atLeast('rate', 100, 'x', 1), atLeast('rate', 97, 'x', 1)), ['worse']);
});

test('figures without a goal, and those of one run only, have no verdict', () => {
  assert.deepEqual(verdicts(shown('a', 1, 'x'), shown('a', 2, 'x')), ['other']);
  assert.deepEqual(verdicts(shown('a', 1, 'x'), shown('b', 2, 'x')), []);
});

test('of a contest, ours is compared: its ratios, its rate, its processor time and its memory', () => {
  assert.deepEqual(verdicts(contest(40_000), contest(30_000)), ['worse', 'worse', 'worse', 'same']);
});

test('a report that was written is read again, and nothing else is', () => {
  using folder = new Folder();
  const written = report({ keepalive: [contest(40_000)], memory: [atMost('memory', Number.NaN, 'MiB', 10)] });
  writeReport(folder.file('report.json'), written);
  assert.deepEqual(readReport(folder.file('report.json')), written);
  assert.throws(() => readReport(`${REPOSITORY}/package.json`), /not a report/);
});

test('the table has a line for each proxy and the verdict on each goal', () => {
  const lines = tableOf('keepalive', [contest(40_000)]).split('\n');
  assert.match(lines[2] ?? '', /requests\/s +user +kernel +cold +memory/);
  assert.match(lines[3] ?? '', /sluice +40,000 +± 1\.0 % +12\.5 µs +12\.5 µs +50\.0 µs +1 MiB/);
  assert.match(lines[5] ?? '', /sluice against nginx +0\.80 x +± 1\.0 % +MISSED \(at least 1\)/);
  assert.equal(numeral(Number.NaN), 'not measured');
});

test('the picture suits light and dark pages, and says everything in words, too', () => {
  const svg = pictureOf(report({ keepalive: [contest(40_000)] }));
  assert.match(svg, /prefers-color-scheme: dark/);
  assert.match(svg, /aria-label="HTTP\/1\.1: sluice 40,000, nginx 50,000"/);
  assert.match(svg, /one core of A &amp; B/);
  assert.throws(() => pictureOf(report({})), /needs at least one/);
});

test('a report is shown again, and compared with another, without measuring', async () => {
  using folder = new Folder();
  const [before, now] = [folder.file('before.json'), folder.file('now.json')];
  writeReport(before, report({ keepalive: [contest(60_000)] }));
  writeReport(now, report({ keepalive: [contest(40_000)] }));
  const program = new Program(process.execPath, [
    `${REPOSITORY}/e2e/bench/main.ts`,
    '--from',
    now,
    '--base',
    before,
    '--svg',
    folder.file('a.svg'),
  ]);
  assert.deepEqual(await program.exited, { code: 1, signal: null });
  assert.match(program.stdout, /keepalive[\s\S]+MISSED[\s\S]+Compared with the run of 2026-11-24[\s\S]+0\.67 x +WORSE/);
});

test('an unknown benchmark or option is an error that lists those that exist', async () => {
  for (const argv of [['keepalives'], ['--round', '1'], ['--rounds', '0']]) {
    const program = new Program(process.execPath, [`${REPOSITORY}/e2e/bench/main.ts`, ...argv]);
    assert.equal((await program.exited).code, 2);
    assert.match(program.stderr, /--rounds N/);
  }
});

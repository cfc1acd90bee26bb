import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Program } from '../../testing/process.ts';
import { onCores } from '../contenders/contender.ts';
import { PROXY_CORE } from '../contest/placement.ts';
import { latencyOf } from './paced.ts';
import { isDelayed, stallsOf } from './stalls.ts';

/** Lines of h2load's log: a request each millisecond of a second, the tenth of which takes ten milliseconds. */
const LOG = Array.from({ length: 1_000 }, (_, at) => `${at * 1_000}\t200\t${at % 10 === 9 ? 10_000 : 500}\n`).join('');

test('percentiles are those of the requests after the connections are open', () => {
  const slowAtFirst = LOG.replaceAll(/^(\d{1,6})\t200\t\d+$/gm, (line, from) => (Number(from) < 500_000 ? `${from}\t200\t90000` : line));
  assert.deepEqual(latencyOf(slowAtFirst, []), { p50: 0.5, p99: 10, delayed: 0 });
});

test('requests that the machine delayed do not count', () => {
  const slow = Array.from({ length: 50 }, (_, at) => [509 + at * 10, 509 + at * 10 + 0.1] as const);
  const { p99, delayed } = latencyOf(LOG, slow);
  assert.deepEqual({ p99, delayed: delayed?.toFixed(3) }, { p99: 0.5, delayed: '0.100' });
});

test('without knowing what the machine delayed, all requests count', () => {
  assert.deepEqual(latencyOf(LOG, null), { p50: 0.5, p99: 10, delayed: null });
});

test('a request is delayed by a stall during it, and by one that has just ended', () => {
  const stalls = [[100, 110]] as const;
  assert.deepEqual(
    [
      [90, 99],
      [90, 101],
      [105, 106],
      [129, 140],
      [131, 140],
    ].map(([from = 0, to = 0]) => isDelayed(stalls, from, to)),
    [false, true, true, true, false],
  );
});

test('another program that keeps a core busy does not stall it', async (t) => {
  await using busy = new Program(...onCores([PROXY_CORE], process.execPath, '-e', 'console.log("busy"); for (;;);'));
  await busy.said('busy');
  const seconds = 0.5;
  const watched = await stallsOf(PROXY_CORE, seconds);
  if (watched === null) return t.skip('this user may not use real-time priority');
  const stalled = watched.stalls.reduce((sum, [from, to]) => sum + to - from, 0);
  assert.ok(stalled < (seconds * 1_000) / 2, `${stalled} ms`);
});

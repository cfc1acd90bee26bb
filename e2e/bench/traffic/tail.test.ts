import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run } from '../contest/contest.ts';
import { PROXY_CORE } from '../contest/placement.ts';
import { stallsOf } from '../contest/stalls.ts';
import { isMet } from '../figure.ts';
import { tailOf } from './tail.ts';

const QUIET = { share: 0, longest: 0 };

const run = (name: string, p99: number, foreign: number): Run => ({
  name,
  version: null,
  cold: null,
  memory: 0,
  samples: [{ perSecond: 1, user: 1, kernel: 1, latency: { p50: 1, p99 }, foreign, unused: 0.5, loadUnused: 0.5 }],
});

test('requests at the 99th percentile may take 1.2 times as long as with nginx', () => {
  const [ratio] = tailOf('load', [run('sluice', 3, 0), run('nginx', 2, 0)], [QUIET]).ratios;
  assert.equal(ratio?.figure, 1.5);
  assert.deepEqual(ratio?.goal, { direction: 'at most', limit: 1.2 });
  assert.equal(ratio && isMet(ratio), false);
});

test('on a core with other work, waiting times are shown, but not judged', () => {
  const { ratios, remarks } = tailOf('load', [run('sluice', 1, 0), run('nginx', 2, 0.4)], [QUIET]);
  assert.equal(ratios[0]?.figure, 0.5);
  assert.equal(ratios[0]?.goal, null);
  assert.match(remarks.join(' '), /nginx 40 %.* not judged/);
});

test('on a machine that stops programs for a time that such percentiles show, they are shown, but not judged', () => {
  const { ratios, remarks } = tailOf('load', [run('sluice', 1, 0), run('nginx', 2, 0)], [QUIET, { share: 0.011, longest: 0.009 }]);
  assert.equal(ratios[0]?.figure, 0.5);
  assert.equal(ratios[0]?.goal, null);
  assert.match(remarks.join(' '), /1\.1 % of the time and up to 9 ms.* not judged/);
});

test('how long a core stops a program is measured', async () => {
  const [stalls] = await stallsOf([PROXY_CORE], 0.1);
  assert.ok(stalls !== undefined && stalls.share >= 0 && stalls.share <= 1 && stalls.longest >= 0, JSON.stringify(stalls));
});

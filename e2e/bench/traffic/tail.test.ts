import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run } from '../contest/contest.ts';
import { isMet } from '../figure.ts';
import { tailOf } from './tail.ts';

const run = (name: string, p99: number, { foreign = 0, delayed = 0.02 }: { foreign?: number; delayed?: number | null } = {}): Run => ({
  name,
  version: null,
  cold: null,
  memory: 0,
  samples: [{ perSecond: 1, user: 1, kernel: 1, latency: { p50: 1, p99, delayed }, foreign, unused: 0.5, loadUnused: 0.5 }],
});

test('requests at the 99th percentile may take 1.2 times as long as with nginx', () => {
  const [ratio] = tailOf('load', [run('sluice', 3), run('nginx', 2)]).ratios;
  assert.equal(ratio?.figure, 1.5);
  assert.deepEqual(ratio?.goal, { direction: 'at most', limit: 1.2 });
  assert.equal(ratio && isMet(ratio), false);
});

for (const [what, nginx, remark] of [
  ['on a core with other work', { foreign: 0.4 }, /nginx 40 %.* not judged/],
  ['on a machine that delays many of them', { delayed: 0.5 }, /nginx 50 %.* not judged/],
  ['on a machine of which that is not known', { delayed: null }, /not known.* not judged/],
] as const)
  test(`${what}, they are shown, but not judged`, () => {
    const { ratios, remarks } = tailOf('load', [run('sluice', 1), run('nginx', 2, nginx)]);
    assert.equal(ratios[0]?.figure, 0.5);
    assert.equal(ratios[0]?.goal, null);
    assert.match(remarks.join(' '), remark);
  });

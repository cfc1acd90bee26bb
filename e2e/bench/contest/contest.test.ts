import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run } from './contest.ts';
import { judged } from './goals.ts';
import type { LoadSample } from './sample.ts';

const sample = (perSecond: number, micros: number, more: Partial<LoadSample> = {}): LoadSample => ({
  perSecond,
  user: (micros * 1e-6) / 2,
  kernel: (micros * 1e-6) / 2,
  latency: null,
  foreign: 0,
  unused: 0,
  loadUnused: 0.3,
  ...more,
});
const run = (name: string, ...samples: readonly LoadSample[]): Run => ({ name, version: null, cold: null, samples, memory: 0 });

test('proxies that have their cores to themselves are compared by their rates', () => {
  const { ratios, remarks } = judged('load', 'requests', [run('sluice', sample(30_000, 30)), run('nginx', sample(40_000, 20))], {
    nginx: 1,
  });
  assert.equal(ratios[0]?.figure, 0.75);
  assert.deepEqual(ratios[0]?.goal, { direction: 'at least', limit: 1 });
  assert.deepEqual(remarks, []);
});

test('if something else used the core of one, processor times are compared', () => {
  const disturbed = sample(10_000, 30, { foreign: 0.7 });
  const { ratios, remarks } = judged('load', 'requests', [run('sluice', disturbed), run('nginx', sample(40_000, 24))], {});
  assert.equal(Math.round(100 * (ratios[0]?.figure ?? 0)), 80);
  assert.deepEqual(remarks, [
    "Something else used part of the proxy's core: sluice 70 %.",
    'The ratios are therefore those of processor time per request.',
  ]);
});

test('if the load was too low for one, processor times are compared, and the load is named', () => {
  const waiting = sample(40_000, 20, { unused: 0.2, loadUnused: 0 });
  const { ratios, remarks } = judged('load', 'requests', [run('sluice', sample(40_000, 25)), run('nginx', waiting)], {});
  assert.equal(Math.round(100 * (ratios[0]?.figure ?? 0)), 80);
  assert.match(remarks[0] ?? '', /unused, because the core of the load was fully used: nginx 20 %/);
});

test('the best of the others is the hardest to beat', () => {
  const runs = [run('sluice', sample(30, 1)), run('nginx', sample(20, 1)), run('haproxy', sample(40, 1))];
  const best = judged('load', 'requests', runs, { best: 1 }).ratios.at(-1);
  assert.match(best?.what ?? '', /the best of them, haproxy/);
  assert.equal(best?.figure, 0.75);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { nodeMetricsFromFirstScrape } from './node-metrics.ts';

test('nothing is measured before the first scrape, which then has the delay of the event loop', async () => {
  const registry = new Registry();
  const measured = nodeMetricsFromFirstScrape(registry);
  assert.deepEqual(registry.getMetricsAsArray(), []);
  const both = Promise.all([measured(), measured()]);
  // The thread is busy for longer than all of it takes.
  const busyUntil = performance.now() + 100;
  while (performance.now() < busyUntil);
  await both;
  const text = await registry.metrics();
  for (const which of ['min', 'mean', 'p99']) {
    const seconds = Number(new RegExp(`^nodejs_eventloop_lag_${which}_seconds (\\S+)$`, 'm').exec(text)?.[1]);
    assert.ok(seconds > 0 && seconds < 60, `${which}: ${seconds}`);
  }
  registry.clear();
});

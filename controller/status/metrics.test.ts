import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { createControllerMetrics } from './metrics.ts';
import { Report } from './report.ts';

test('the reference lists every metric family of the controller, and no other', () => {
  const page = readFileSync(new URL('../../docs/reference/controller.md', import.meta.url), 'utf8');
  const documented = [...page.matchAll(/^\| `(sluice_controller_\w+)` \| (\w+) \|/gm)].map(([, name, type]) => `${name} ${type}`);
  const report = new Report(new ManualClock(), { controller: 'c', epoch: 1, version: '0', sources: [] }, []);
  const registered = createControllerMetrics(report)
    .registry.getMetricsAsArray()
    .filter(({ name }) => name.startsWith('sluice_controller_'))
    .map(({ name, type }) => `${name} ${type}`);
  assert.deepEqual(documented.sort(), registered.sort());
});

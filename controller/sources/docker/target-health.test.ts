import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import type { Reading } from '../source.ts';
import { TargetHealth } from './target-health.ts';

const condition = (holds: boolean, reason: string) => ({ holds, reason, since: '2026-01-01T00:00:00.000Z' });
const READING: Reading = {
  source: 'docker',
  kind: 'container',
  id: 'a1',
  name: 'web-1',
  origin: 'container web-1 (a1)',
  section: null,
  domains: ['a.example'],
  peers: { count: 0, names: [] },
  accepted: condition(true, 'understood'),
  resolved: condition(true, 'its address'),
  address: '172.18.0.2:80',
  change: null,
};

test('a data plane’s report about an address counts until it is withdrawn or the container changes', () => {
  const clock = new ManualClock();
  const health = new TargetHealth(clock);
  const resolved = () => health.applyTo(READING).resolved.reason;
  const refused = { address: '172.18.0.2:80', healthy: false, reason: 'connection refused' };
  const since = new Date(clock.now()).toISOString();
  health.record({ ...refused, id: 'a1' });
  clock.pass(1_000);
  health.record({ ...refused, id: 'a1' });
  assert.deepEqual(health.applyTo(READING), {
    ...READING,
    resolved: { holds: false, reason: 'connection refused', since },
    change: 'make it respond again',
  });
  health.record({ ...refused, id: 'a1', healthy: true, reason: 'it accepts connections' });
  assert.equal(resolved(), 'its address');
  health.record({ ...refused, id: 'a0' });
  assert.equal(resolved(), 'its address');
});

test('a container without a usable address keeps the state found by its source', () => {
  const health = new TargetHealth(new ManualClock());
  health.record({ address: '172.18.0.2:80', id: 'a1', healthy: false, reason: 'connection refused' });
  const paused = { ...READING, resolved: condition(false, 'it is paused'), change: 'unpause it' };
  assert.equal(health.applyTo(paused), paused);
});

test('an app that has refused connections since its start may listen on another port, or only within its container', () => {
  const health = new TargetHealth(new ManualClock());
  const changeFor = (address: string, section: string | null = null, reason = 'not probed yet: connection refused'): string | null => {
    health.record({ address, id: 'a1', healthy: false, reason });
    return health.applyTo({ ...READING, address, section }).change;
  };
  assert.equal(
    changeFor('172.18.0.2:80'),
    'make the app listen on 0.0.0.0:80, not only on 127.0.0.1, or name the port that it listens on with sluice.port=PORT',
  );
  assert.match(changeFor('[fd00::2]:80', 'api') ?? '', / on \[::\]:80, not only on \[::1\], or name the .* with sluice\.api\.port=PORT$/);
  assert.match(changeFor('172.18.0.3:80', null, 'not checked yet: connection refused') ?? '', /0\.0\.0\.0:80/);
  assert.match(changeFor('127.0.0.1:8080') ?? '', /^make the app listen on port 8080, or name the port/);
  health.record({ address: '172.18.0.2:80', id: 'a1', healthy: false, reason: 'connection refused' });
  assert.equal(health.applyTo(READING).change, 'make it respond again');
});

test('a container that has never been reached may be on a network that the data plane does not reach', () => {
  const health = new TargetHealth(new ManualClock());
  for (const reason of ['not probed yet: no connection within 1 s', 'not checked yet: it cannot be reached']) {
    health.record({ address: '172.18.0.2:80', id: 'a1', healthy: false, reason });
    assert.match(
      health.applyTo({ ...READING, section: 'api' }).change ?? '',
      /does not reach its network.* with sluice\.api\.network=NETWORK$/,
    );
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpstreamSpec } from '../../shared/route.ts';
import { parseAddress } from '../../shared/values/address.ts';
import { gateOf } from './health-checks.ts';

const HEALTH = { path: '/healthz', interval_secs: 10, timeout_secs: 5 };

function target(change: Partial<UpstreamSpec> = {}): UpstreamSpec {
  const address = parseAddress('10.0.0.1:80');
  assert.ok(address.ok);
  return { address: address.value, weight: 1, state: 'healthy', ...change };
}

test('a target that is well passes no gate, one that starts passes one only where it may be probed', () => {
  assert.equal(gateOf('a.test', target(), false, null), null);
  assert.equal(gateOf('a.test', target({ state: 'starting' }), false, null), null);
  assert.equal(gateOf('a.test', target({ state: 'starting', probe: true }), false, null)?.shutAtFirst, true);
});

test('a health check lets in what its source calls well until it fails, and a starting one when it has passed', () => {
  assert.equal(gateOf('a.test', target(), false, HEALTH)?.shutAtFirst, false);
  assert.equal(gateOf('a.test', target({ state: 'starting', probe: true }), false, HEALTH)?.shutAtFirst, true);
  for (const state of ['paused', 'unhealthy', 'draining'] as const) assert.equal(gateOf('a.test', target({ state }), false, HEALTH), null);
});

test('the same question to the same target is one gate; another id, path, host or TLS is another', () => {
  const gate = (domain: string, change: Partial<UpstreamSpec>, tls = false, health: typeof HEALTH | null = HEALTH) =>
    gateOf(domain, target({ state: 'starting', probe: true, ...change }), tls, health)?.name;
  assert.equal(gate('a.test', { id: 'x' }), gate('a.test', { id: 'x', weight: 5 }));
  assert.equal(gate('a.test', { id: 'x' }, false, null), gate('b.test', { id: 'x' }, false, null));
  const different = [
    gate('a.test', { id: 'x' }),
    gate('a.test', { id: 'y' }),
    gate('a.test', {}),
    gate('b.test', { id: 'x' }),
    gate('a.test', { id: 'x' }, true),
    gate('a.test', { id: 'x' }, false, { ...HEALTH, path: '/up' }),
    gate('a.test', { id: 'x' }, false, null),
  ];
  assert.equal(new Set(different).size, different.length);
});

test('the sites of a wildcard have no one name: their targets are asked by their own', () => {
  assert.equal(gateOf('*.a.test', target(), false, HEALTH)?.page?.host, '10.0.0.1:80');
  assert.equal(gateOf('a.test', target(), false, HEALTH)?.page?.host, 'a.test');
});

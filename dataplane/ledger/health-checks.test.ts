import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpstreamSpec } from '../../shared/route.ts';
import { parseAddress } from '../../shared/values/address.ts';
import { activeCheck } from './health-checks.ts';

const HEALTH = { path: '/healthz', interval_secs: 10, timeout_secs: 5 };

function target(change: Partial<UpstreamSpec> = {}): UpstreamSpec {
  const address = parseAddress('10.0.0.1:80');
  assert.ok(address.ok);
  return { address: address.value, weight: 1, state: 'healthy', ...change };
}

test('without a health check, a healthy target has no check, and a starting one has a probe if that is allowed', () => {
  assert.equal(activeCheck('a.test', target(), false, null), null);
  assert.equal(activeCheck('a.test', target({ state: 'starting' }), false, null), null);
  assert.equal(activeCheck('a.test', target({ state: 'starting', probe: true }), false, null)?.outAtFirst, true);
});

test('with a health check, a healthy target is in rotation until it fails, and a starting one once it has passed', () => {
  assert.equal(activeCheck('a.test', target(), false, HEALTH)?.outAtFirst, false);
  assert.equal(activeCheck('a.test', target({ state: 'starting', probe: true }), false, HEALTH)?.outAtFirst, true);
  for (const state of ['paused', 'unhealthy', 'draining'] as const)
    assert.equal(activeCheck('a.test', target({ state }), false, HEALTH), null);
});

test('the same check of the same target is made once; a different id, path, host or TLS makes a different check', () => {
  const nameOf = (domain: string, change: Partial<UpstreamSpec>, tls = false, health: typeof HEALTH | null = HEALTH) =>
    activeCheck(domain, target({ state: 'starting', probe: true, ...change }), tls, health)?.name;
  assert.equal(nameOf('a.test', { id: 'x' }), nameOf('a.test', { id: 'x', weight: 5 }));
  assert.equal(nameOf('a.test', { id: 'x' }, false, null), nameOf('b.test', { id: 'x' }, false, null));
  const different = [
    nameOf('a.test', { id: 'x' }),
    nameOf('a.test', { id: 'y' }),
    nameOf('a.test', {}),
    nameOf('b.test', { id: 'x' }),
    nameOf('a.test', { id: 'x' }, true),
    nameOf('a.test', { id: 'x' }, false, { ...HEALTH, path: '/up' }),
    nameOf('a.test', { id: 'x' }, false, null),
  ];
  assert.equal(new Set(different).size, different.length);
});

test('targets of a wildcard site are checked with their own address as the host', () => {
  assert.equal(activeCheck('*.a.test', target(), false, HEALTH)?.page?.host, '10.0.0.1:80');
  assert.equal(activeCheck('a.test', target(), false, HEALTH)?.page?.host, 'a.test');
});

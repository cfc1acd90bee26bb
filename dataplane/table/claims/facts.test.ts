import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRoute, type RouteSpec } from '../../../shared/route.ts';
import { type Claims, claimOf, NO_CLAIMS, siteOf, sitesOf } from './claims.ts';
import { factsOf } from './facts.ts';

function claims(more: object): Claims {
  const parsed = parseRoute({ domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body: 'x' }, ...more });
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.reason);
  return { hand: null, applied: claimOf(parsed.value as RouteSpec, 'c', 1) };
}

test('how a site gets HTTPS is read from its route’s member, regardless of the text of the other members', () => {
  const decoy = { respond: { status: 200, body: '"https":"internal"' }, headers: [{ name: 'https', value: '"https":"off"' }] };
  for (const https of ['auto', 'off', 'internal', 'provided'] as const)
    assert.deepEqual(siteOf('a.test', claims({ https, ...decoy })), { domain: 'a.test', https });
  assert.deepEqual(siteOf('a.test', claims(decoy)), { domain: 'a.test', https: 'auto' });
});

test('a domain without a claim is not a site, and a manually posted route decides for the one it overrides', () => {
  const applied = claims({ https: 'off' });
  const both: Claims = { hand: claims({ https: 'internal' }).applied, applied: applied.applied };
  const table = new Map([
    ['a.test', both],
    ['b.test', NO_CLAIMS],
    ['c.test', applied],
  ]);
  assert.deepEqual(
    [...sitesOf(table)],
    [
      { domain: 'a.test', https: 'internal' },
      { domain: 'c.test', https: 'off' },
    ],
  );
  assert.equal(siteOf('d.test'), null);
});

test('facts come from the members of a route and of its blocks, and members of the same name elsewhere have no effect', () => {
  const target = { address: '10.0.0.1:80' };
  const entering = { ...target, state: 'starting', probe: true } as const;
  const block = (upstream: object) => ({ handles: [{ path: '/x', upstreams: [{ ...target, ...upstream }] }] });
  const facts = (more: object) => factsOf({ domain: 'a.test', upstream: null, tls: false, ...more });
  const none = {
    https: 'auto',
    identifiedTargets: false,
    healthChecks: false,
    fetchesKeys: false,
    needsSetup: false,
    passesTls: false,
    severalLabels: false,
  };
  assert.deepEqual(facts({}), none);
  assert.deepEqual(facts({ health: null, upstreams: [{ ...entering, probe: false }] }), none);
  assert.deepEqual(
    facts({ transport: { id: 'x', probe: true, health: {}, https: 'off' }, handles: [{ path: '/x', id: 'x', health: null }] }),
    none,
  );
  assert.deepEqual(facts({ https: 'off', health: { path: '/' } }), {
    https: 'off',
    identifiedTargets: false,
    healthChecks: true,
    fetchesKeys: false,
    needsSetup: false,
    passesTls: false,
    severalLabels: false,
  });
  const files = { files: { names: ['/{err.status_code}.html'] } };
  for (const more of [
    { cache: {} },
    { ports: [80] },
    { file_server: {} },
    { handle_errors: [files] },
    { handles: [{ path: '/x', cache: {} }] },
  ])
    assert.deepEqual(facts(more), { ...none, needsSetup: true });
  const jwt = { key_source: { url: 'https://issuer.test/keys', private: false } };
  for (const more of [{ jwt }, { handles: [{ path: '/x', jwt }] }]) assert.deepEqual(facts(more), { ...none, fetchesKeys: true });
  const decoy = { headers: [{ name: 'key_source', value: '"key_source"' }], jwt: { keys: [] } };
  assert.deepEqual(facts(decoy), none);
  assert.equal(facts({ handles: [{ path: '/x', health: { path: '/' } }] }).healthChecks, true);
  for (const more of [{ upstreams: [{ ...entering, id: 'x' }] }, block({ ...entering, id: 'x' })])
    assert.deepEqual(facts(more), {
      https: 'auto',
      identifiedTargets: true,
      healthChecks: true,
      fetchesKeys: false,
      needsSetup: false,
      passesTls: false,
      severalLabels: false,
    });
  assert.deepEqual(facts({ tls_passthrough: [{ upstreams: [{ ...target, id: 'x' }] }] }), {
    ...none,
    identifiedTargets: true,
    passesTls: true,
  });
  assert.deepEqual(facts({ domain: '*.a.test', wildcard: 'many' }), { ...none, severalLabels: true });
  assert.equal(facts(block({ id: 'x' })), facts({ upstreams: [{ ...target, id: 'y' }] }), 'routes with the same facts share one object');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RouteInput, readAppliedRoute } from '../../shared/route.ts';
import type { OwnedRoute } from '../table/table.ts';
import { indexTargets, outOfRotationReason } from './named-targets.ts';

type Target = NonNullable<RouteInput['upstreams']>[number];

function owned(domain: string, upstreams: Target[], more: Partial<RouteInput> = {}, unconfirmed = false): OwnedRoute {
  const read = readAppliedRoute({ domain, upstream: null, tls: false, upstreams, ...more });
  assert.ok('route' in read, JSON.stringify(read));
  return { route: read.route, controller: null, overrides: null, since: 0, unconfirmed, lost: new Set(), needsSetup: false };
}

const ADDRESS = '10.0.0.1:80';
const why = (name: string, outcome: string, ...routes: OwnedRoute[]): string | null => {
  const target = indexTargets(routes).targets.get(name);
  assert.ok(target, name);
  return outOfRotationReason(target, () => outcome);
};

test('a target is out of rotation if its source says so, unless one route has it in rotation', () => {
  const paused = owned('a.test', [{ address: ADDRESS, state: 'paused' }]);
  assert.equal(why(ADDRESS, '', paused), 'its source says paused');
  assert.equal(why(ADDRESS, '', paused, owned('b.test', [{ address: ADDRESS }])), null);
});

test('with a health check, its result decides', () => {
  const probed = owned('a.test', [{ address: ADDRESS, id: 'c1', state: 'starting', probe: true }]);
  const checked = owned('a.test', [{ address: ADDRESS }], { health: { path: '/up' } });
  assert.equal(why(`${ADDRESS} c1`, 'not probed yet', probed), 'not probed yet');
  assert.equal(why(`${ADDRESS} c1`, '', probed), null);
  assert.equal(why(ADDRESS, 'GET /up answered 500', checked), 'GET /up answered 500');
  assert.equal(why(ADDRESS, '', checked), null);
});

test('a restored target with an id waits for its controller, also after a check that succeeded', () => {
  const route = owned('a.test', [{ address: ADDRESS, id: 'c1' }, { address: '10.0.0.2:80' }], {}, true);
  assert.equal(why(`${ADDRESS} c1`, '', route), 'its restored address is not confirmed; waiting for the controller');
  assert.equal(why('10.0.0.2:80', '', route), null);
});

test('a target that was lost while its controller was away waits for it, and others of its route do not', () => {
  const route = owned('a.test', [
    { address: ADDRESS, id: 'c1' },
    { address: '10.0.0.2:80', id: 'c2' },
  ]);
  const lost = { ...route, lost: new Set([`${ADDRESS} c1`]) };
  assert.match(why(`${ADDRESS} c1`, '', lost) ?? '', /^it did not accept connections while the controller was away/);
  assert.equal(why('10.0.0.2:80 c2', '', lost), null);
});

test('up to ten domains of a target are listed, and all are counted once', () => {
  const routes = Array.from({ length: 12 }, (_, n) =>
    owned(`d${n}.test`, [{ address: ADDRESS }], { handles: [{ path: '/x', upstreams: [{ address: ADDRESS }] }] }),
  );
  const target = indexTargets(routes).targets.get(ADDRESS);
  assert.deepEqual([target?.count, target?.domains.length], [12, 10]);
});

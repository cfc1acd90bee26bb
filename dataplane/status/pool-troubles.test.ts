import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RouteInput, readAppliedRoute } from '../../shared/route.ts';
import type { PoolTrouble } from './alerts.ts';
import { indexTargets, type PoolTarget } from './named-targets.ts';
import { poolTroubles } from './pool-troubles.ts';

type Target = NonNullable<RouteInput['upstreams']>[number];

/** The troubles of all pools of a route. `ejected`: addresses that failed. */
function troubles(
  upstreams: Target[],
  ejected: readonly string[] = [],
  more: Partial<RouteInput> = {},
  unconfirmed = false,
): PoolTrouble[] {
  const read = readAppliedRoute({ domain: 'a.test', upstream: null, tls: false, upstreams, ...more });
  assert.ok('route' in read, JSON.stringify(read));
  const { routes } = indexTargets([
    { route: read.route, controller: null, overrides: null, since: 0, unconfirmed, lost: new Set(), needsSetup: false },
  ]);
  const reason = ({ target, view }: PoolTarget) =>
    ejected.includes(target.address) ? 'it failed' : view.state === 'healthy' ? null : `its source says ${view.state}`;
  return routes.flatMap(({ domain, pools }) => pools.flatMap((pool) => poolTroubles(domain, pool, { reason, failure: () => undefined })));
}

const ONE = { address: '10.0.0.1:80' };
const TWO = { address: '10.0.0.2:80' };

test('a pool whose targets all get requests is in no trouble', () => {
  assert.deepEqual(troubles([ONE, TWO]), []);
});

test('a target that failed is reported with the size of its pool', () => {
  assert.deepEqual(troubles([ONE, TWO], [ONE.address]), [
    { domain: 'a.test', path: null, targets: 2, out: [{ address: ONE.address, reason: 'it failed' }] },
  ]);
});

test('a replacement in progress is no trouble, but a pool that only starts serves nothing', () => {
  assert.deepEqual(troubles([ONE, { ...TWO, state: 'starting' }]), []);
  assert.deepEqual(troubles([ONE, { ...TWO, state: 'draining' }]), []);
  assert.deepEqual(
    troubles([
      { ...ONE, state: 'starting' },
      { ...TWO, state: 'draining' },
    ]).map(({ targets, out }) => [targets, out.length]),
    [[1, 1]],
  );
});

test('a draining target is the last resort of its pool, which therefore serves', () => {
  assert.deepEqual(troubles([{ ...ONE, state: 'draining' }]), []);
});

test('a paused target counts as out of rotation', () => {
  assert.equal(troubles([ONE, { ...TWO, state: 'paused' }])[0]?.out[0]?.reason, 'its source says paused');
});

test('a site that has lost its last target is reported, one that responds itself is not', () => {
  assert.deepEqual(troubles([]), [{ domain: 'a.test', path: null, targets: 0, out: [] }]);
  assert.deepEqual(troubles([], [], { respond: { status: 200, body: 'hello' } }), []);
  for (const more of [{ mirror: { upstream: TWO.address } }, { mirrors: [{ upstreams: [TWO] }] }])
    assert.deepEqual(troubles([], [], more), [{ domain: 'a.test', path: null, targets: 0, out: [] }]);
});

test('the pool of a block is reported with its path', () => {
  const handles = [{ path: '/api/*', upstreams: [TWO] }];
  assert.deepEqual(
    troubles([ONE], [TWO.address], { handles }).map(({ path }) => path),
    ['/api/*'],
  );
});

test('the pool of a block without a path, of a mirror, and of connections that are passed on is reported as what it is', () => {
  const lost = { upstreams: [TWO] };
  const places = (more: Partial<RouteInput>) => troubles([ONE], [TWO.address], more).map(({ path, part }) => [path, part]);
  const handles = [
    { path: '/api/*', upstreams: [ONE] },
    { path: null, match: { method: ['PUT'] }, ...lost, mirrors: [lost] },
  ];
  assert.deepEqual(places({ handles }), [
    [null, 'block 2'],
    [null, 'mirror of block 2'],
  ]);
  for (const path of [null, '/*']) {
    const all = { path, ...lost };
    assert.deepEqual(
      troubles([], [TWO.address], { handles: [all] }).map(({ path: of, part }) => [of, part]),
      [[null, undefined]],
    );
    assert.deepEqual(
      troubles([], [TWO.address], {
        handles: [
          { path: null, upstreams: [ONE] },
          { path: null, ...lost },
        ],
      })[0]?.part,
      'block 2',
    );
  }
  assert.deepEqual(places({ handles: [{ path: null, ...lost }] }), [[null, 'block 1']]);
  assert.deepEqual(places({ mirrors: [lost] }), [[null, 'mirror']]);
  assert.deepEqual(places({ tls_passthrough: [lost] }), [[null, 'tls_passthrough']]);
});

test('a mirror that is written as a single address is reported, too, as a mirror of its site or of its block', () => {
  const mirror = { upstream: TWO.address };
  const places = (more: Partial<RouteInput>) => troubles([ONE], [TWO.address], more).map(({ path, part }) => [path, part]);
  assert.deepEqual(places({ mirror }), [[null, 'mirror']]);
  assert.deepEqual(places({ mirror, mirrors: [{ upstreams: [TWO] }], tls_passthrough: [{ upstreams: [ONE] }] }), [
    [null, 'mirror 2'],
    [null, 'mirror'],
  ]);
  assert.deepEqual(places({ handles: [{ path: '/api/*', upstreams: [ONE], mirror }] }), [['/api/*', 'mirror']]);
});

test('the mirrors of a site and of its blocks are distinguished', () => {
  const mirror = { upstream: TWO.address };
  const mirrors = [{ upstreams: [TWO] }, { upstreams: [TWO] }];
  const handles = [
    { path: '/api/*', mirror },
    { path: null, match: { method: ['PUT'] }, mirrors },
    { path: '/a', mirrors },
    { path: null, match: { method: ['POST'] }, mirror, mirrors },
  ];
  const found = troubles([ONE], [TWO.address], { mirror, mirrors, handles });
  const places = found.map(({ path, part }) => `${part} ${path}`);
  assert.deepEqual(places.sort(), [
    'mirror /a',
    'mirror /api/*',
    'mirror 2 /a',
    'mirror 2 null',
    'mirror 2 of block 2 null',
    'mirror 2 of block 4 null',
    'mirror 3 null',
    'mirror 3 of block 4 null',
    'mirror null',
    'mirror of block 2 null',
    'mirror of block 4 null',
  ]);
});

test('restored targets that wait for their controller are not reported here', () => {
  assert.deepEqual(troubles([{ ...ONE, id: 'c1' }], [], {}, true), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAppliedRoute } from '../../shared/route.ts';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { desire } from '../desired/desire.ts';
import type { DesiredState } from '../reconcile/reconciler.ts';
import { RouteConditions } from './route-conditions.ts';

function stateOf(...routes: object[]): DesiredState {
  const listed = routes.map((one) => {
    const read = readAppliedRoute({ upstream: null, tls: false, source: 'docker', origin: 'container web (1)', ...one });
    assert.ok('route' in read, JSON.stringify(read));
    return read.route;
  });
  const listing = { kind: 'listed' as const, source: 'docker', routes: listed, problems: [] };
  return { desired: desire(new Map([['docker', { listing, errors: [] }]])), problems: [] };
}

const target = (state: string, address = '10.0.0.1:80') => ({ address, state });

/** Whether each route of the state is resolved, and why. */
function resolved(...routes: object[]): (readonly [boolean, string])[] {
  const conditions = new RouteConditions(new ManualClock());
  conditions.built(stateOf(...routes));
  return [...conditions.routes()].map(({ resolved: { holds, reason } }) => [holds, reason] as const);
}

test('a route is resolved if a target is not known to be out, or if it needs none', () => {
  assert.deepEqual(
    resolved(
      { domain: 'a.test', upstreams: [target('unhealthy'), target('healthy', '10.0.0.2:80')] },
      { domain: 'b.test', upstreams: [target('unhealthy'), target('paused', '10.0.0.2:80')] },
      { domain: 'c.test', respond: { status: 200, body: 'hello' } },
      { domain: 'd.test', upstreams: [] },
      { domain: 'e.test', upstreams: [target('starting')] },
    ),
    [
      [true, 'a target is available'],
      [false, 'no target is available: 10.0.0.1:80 is unhealthy'],
      [true, 'responds without a target'],
      [false, 'it has no target'],
      [true, 'a target is available'],
    ],
  );
});

test('the version increases only if data planes need an update', () => {
  const conditions = new RouteConditions(new ManualClock());
  const state = stateOf({ domain: 'a.test', upstreams: [target('healthy')] });
  const versions = [() => conditions.built(state), () => conditions.built(state)].map((change) => {
    change();
    return conditions.version;
  });
  assert.equal(versions[0], versions[1]);
  const after = (change: () => void): number => {
    const before = conditions.version;
    change();
    return conditions.version - before;
  };
  assert.equal(
    after(() => conditions.upstream('10.0.0.1:80', false, 'connection refused')),
    1,
  );
  assert.equal(
    after(() => conditions.upstream('10.0.0.1:80', false, 'connection refused')),
    0,
  );
  assert.equal(
    after(() => conditions.upstream('10.9.9.9:80', false, 'connection refused')),
    0,
  );
  assert.equal(
    after(() => conditions.built(stateOf())),
    1,
  );
  assert.deepEqual([...conditions.routes()], []);
});

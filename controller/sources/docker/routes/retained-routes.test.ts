import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RouteSpec, readRoute } from '../../../../shared/route.ts';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { MIN_RETENTION_MS, RetainedRoutes } from './retained-routes.ts';

function route(domain: string, hold_secs: number | null = null): RouteSpec {
  const read = readRoute({ domain, upstream: '172.18.0.2:80', tls: false, source: 'docker', hold_secs });
  if ('problem' in read) throw new Error(read.problem.reason);
  return read.route;
}

function started() {
  const clock = new ManualClock();
  let expired = 0;
  const retained = new RetainedRoutes(clock, () => {
    expired += 1;
  });
  const now = (...routes: RouteSpec[]) => retained.merge(routes).map(({ domain, upstream }) => `${domain} ${upstream ?? 'nowhere'}`);
  return { clock, now, expired: () => expired };
}

test('a domain stays known for ten seconds after its last container is removed', () => {
  const { clock, now, expired } = started();
  now(route('a.example'));
  assert.deepEqual(now(), ['a.example nowhere']);
  clock.pass(MIN_RETENTION_MS - 1);
  assert.deepEqual(now(), ['a.example nowhere']);
  clock.pass(1);
  assert.deepEqual([now(), expired()], [[], 1]);
});

test('a domain with a longer hold time stays known that long', () => {
  const { clock, now } = started();
  now(route('a.example', 30));
  now();
  clock.pass(29_999);
  assert.deepEqual(now(), ['a.example nowhere']);
  clock.pass(1);
  assert.deepEqual(now(), []);
});

test('a container that returns in time gets its domain back at once, and may be removed again', () => {
  const { clock, now, expired } = started();
  now(route('a.example'));
  now();
  clock.pass(MIN_RETENTION_MS - 1);
  assert.deepEqual(now(route('a.example')), ['a.example 172.18.0.2:80']);
  now();
  clock.pass(MIN_RETENTION_MS - 1);
  assert.deepEqual([now(), expired()], [['a.example nowhere'], 0]);
});

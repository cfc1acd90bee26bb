import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { Targets, targetKey } from '../ledger/targets.ts';
import { routeOf, TemporaryTable } from '../table/testing/temporary-table.ts';
import { Upstreams } from './upstreams.ts';

const ONE = '10.0.0.1:80';
const TWO = '10.0.0.2:80';

/** The upstreams of a table with a posted route of two targets; `fail` makes one fail until it is ejected. */
async function start() {
  const fixture = await TemporaryTable.start();
  const clock = new ManualClock();
  const targets = new Targets(Targets.buffer(1), 1);
  const upstreams = new Upstreams({ table: fixture.table, targets, health: { reason: () => '' }, clock });
  const post = (...addresses: string[]) =>
    fixture.table.post(routeOf('a.test', addresses[0], { upstreams: addresses.map((address) => ({ address })) }));
  await post(ONE, TWO);
  const fail = (address: string, client: string | null = null): void => {
    const now = clock.now();
    const slot = targets.claim(targetKey(address, false), now);
    while (!targets.failed(slot, now, 3, 10, client));
    upstreams.changed({ address, tls: false, transport: '', healthy: false, reason: 'connection refused' });
    const failure = { address, tls: false, transport: '', count: 3, code: 'refused', reason: 'connection refused', at: now };
    upstreams.record({ domains: [], targets: [failure] });
  };
  return { fixture, upstreams, targets, clock, post, fail };
}

test('a survey counts all targets, and names the pools that lack some with the reason', async () => {
  const { fixture, upstreams, post, fail } = await start();
  using _ = fixture;
  assert.deepEqual(await upstreams.survey(), { summary: { count: 2, healthy: 2, out: [] }, pools: [] });
  fail(ONE);
  const { summary, pools } = await upstreams.survey();
  assert.deepEqual([summary.count, summary.healthy, summary.out.map(({ address }) => address)], [2, 1, [ONE]]);
  assert.deepEqual(summary, upstreams.summary());
  const [pool, ...others] = pools;
  assert.deepEqual([pool?.domain, pool?.targets, others.length], ['a.test', 2, 0]);
  assert.match(pool?.out[0]?.reason ?? '', /^connection refused \(\d+ in a row\)$/);
  assert.equal(pool?.out[0]?.failure?.count, 3);
  await post(TWO);
  assert.deepEqual(await upstreams.survey(), { summary: { count: 1, healthy: 1, out: [] }, pools: [] });
});

test('that all failures are of one client’s requests is part of the reason', async () => {
  const { fixture, upstreams, fail } = await start();
  using _ = fixture;
  fail(ONE, '192.0.2.1');
  assert.equal(upstreams.find(ONE, false)?.reason, "connection refused (3 in a row, all of one client's requests)");
});

test('a mirror without a target is out of rotation, but no pool that is down', async () => {
  const { fixture, upstreams, fail } = await start();
  using _ = fixture;
  await fixture.table.post(routeOf('a.test', ONE, { mirrors: [{ upstreams: [{ address: TWO }] }] }));
  fail(TWO);
  assert.deepEqual((await upstreams.load()).routes, [{ domain: 'a.test', inRotation: 1, out: 1, poolsDown: 0 }]);
});

test('the address of a mirror is listed, also without a pool of its own', async () => {
  const { fixture, upstreams, fail } = await start();
  using _ = fixture;
  await fixture.table.post(routeOf('a.test', ONE, { mirror: { upstream: TWO } }));
  fail(TWO);
  assert.deepEqual(
    upstreams.list().map(({ address, healthy, domains }) => [address, healthy, domains.includes('a.test')]),
    [
      [ONE, true, true],
      [TWO, false, true],
    ],
  );
  assert.deepEqual((await upstreams.load()).routes, [{ domain: 'a.test', inRotation: 1, out: 1, poolsDown: 0 }]);
});

test('a target that has been out for long enough is listed as out until a request has tried it', async () => {
  const { fixture, upstreams, targets, clock, fail } = await start();
  using _ = fixture;
  fail(ONE);
  fail(TWO, '192.0.2.1');
  clock.pass(11_000);
  const { summary, pools } = await upstreams.survey();
  assert.deepEqual([summary.healthy, summary.out.map(({ address }) => address)], [1, [ONE]]);
  assert.equal(pools[0]?.out[0]?.reason, 'connection refused (3 in a row; the next request tries it)');
  const { addresses, routes } = await upstreams.load();
  assert.deepEqual(
    addresses.map(({ healthy }) => healthy),
    [false, true],
  );
  assert.deepEqual(routes, [{ domain: 'a.test', inRotation: 1, out: 1, poolsDown: 0 }]);
  targets.succeeded(targets.find(targetKey(ONE, false)), clock.now());
  assert.equal(upstreams.summary().healthy, 2);
});

test('a target that passes its health check is in rotation as soon as it has been out for long enough', async () => {
  const { fixture, upstreams, clock, fail } = await start();
  using _ = fixture;
  await fixture.table.post(routeOf('a.test', ONE, { health: { path: '/healthz', interval_secs: 10, timeout_secs: 5 } }));
  fail(ONE);
  assert.equal(upstreams.find(ONE, false)?.healthy, false);
  clock.pass(11_000);
  assert.equal(upstreams.find(ONE, false)?.healthy, true);
});

test('a target that gets no requests is in rotation once it has been out for long enough: nothing tries it', async () => {
  const { fixture, upstreams, targets, clock, fail } = await start();
  using _ = fixture;
  const healthy = () => [ONE, TWO].map((address) => upstreams.find(address, false)?.healthy);
  await fixture.table.post(routeOf('a.test', ONE, { upstreams: [{ address: ONE }, { address: TWO, weight: 0 }] }));
  for (const address of [ONE, TWO]) fail(address);
  clock.pass(11_000);
  assert.deepEqual(healthy(), [false, true]);
  const inOrder = { upstreams: [{ address: ONE }, { address: TWO }], lb_policy: { policy: 'first' } as const };
  await fixture.table.post(routeOf('a.test', ONE, inOrder));
  assert.deepEqual(healthy(), [false, false], 'a request would try both');
  targets.succeeded(targets.find(targetKey(ONE, false)), clock.now());
  assert.deepEqual(healthy(), [true, true], 'all requests go to the first');
  fail(ONE);
  assert.deepEqual(healthy(), [false, false], 'the next one tries the second');
  targets.succeeded(targets.find(targetKey(ONE, false)), clock.now());
  await fixture.table.post(routeOf('a.test', ONE, { ...inOrder, upstreams: [{ address: ONE, weight: 0 }, { address: TWO }] }));
  assert.deepEqual(healthy(), [true, false], 'the first gets none');
});

test('a change is one for all clients unless a target was out for one client only', async () => {
  const { fixture, upstreams } = await start();
  using _ = fixture;
  const changed = (healthy: boolean, forOneClient?: boolean): boolean =>
    upstreams.changed({ address: ONE, tls: false, healthy, reason: '', ...(forOneClient && { forOneClient }) });
  assert.deepEqual([changed(false, true), changed(true)], [false, false]);
  assert.deepEqual([changed(false, true), changed(false), changed(true)], [false, true, true]);
  assert.deepEqual([changed(false), changed(false, true), changed(true)], [true, false, true]);
  assert.equal(changed(true), true);
});

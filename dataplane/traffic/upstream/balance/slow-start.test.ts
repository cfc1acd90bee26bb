import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activeCheck } from '../../../ledger/health-checks.ts';
import { CHECK_RESULT } from '../../../ledger/targets.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

/** Sends this many requests. @returns how many of them the target got. */
async function shareOf(target: UpstreamFixture, proxy: ProxyFixture, count: number): Promise<number> {
  const before = target.requests.length;
  for (let nth = 0; nth < count; nth++) await proxy.request(get());
  return target.requests.length - before;
}

for (const policy of ['round_robin', 'least_conn', 'random'] as const)
  test(`with ${policy}, the share of a new target grows over the time of its slow start`, async () => {
    using old = await UpstreamFixture.serving(ok('old'));
    using young = await UpstreamFixture.serving(ok('new'));
    const options = { slow_start_secs: 100, lb_policy: { policy } };
    using proxy = await ProxyFixture.start([{ ...site('a.test', old), ...options }]);
    await proxy.request(get());
    proxy.clock.pass(200_000);
    await proxy.publish([{ ...site('a.test', old, young), ...options }]);
    const early = await shareOf(young, proxy, 100);
    assert.ok(early > 0 && early < 20, `${early} of 100 at once`);
    proxy.clock.pass(50_000);
    const half = await shareOf(young, proxy, 200);
    assert.ok(half > 30 && half < 85, `${half} of 200 after half of the time`);
    proxy.clock.pass(51_000);
    const late = await shareOf(young, proxy, 200);
    assert.ok(late > 60 && late < 140, `${late} of 200 after it`);
  });

test('a target that comes back starts slowly, too, and targets that all start slowly share evenly', async () => {
  using one = await UpstreamFixture.serving(ok('one'));
  using two = await UpstreamFixture.serving(ok('two'));
  const route = { ...site('a.test', one, two), health: { path: '/up' }, slow_start_secs: 100 };
  using proxy = await ProxyFixture.start([route]);
  assert.equal(await shareOf(one, proxy, 40), 20, 'both are new');
  const target = { address: one.address as never, state: 'healthy' as const };
  const page = activeCheck('a.test', target, false, { path: '/up', interval_secs: 10, timeout_secs: 5 });
  assert.ok(page);
  const check = (result: 1 | 2): void => {
    const { targets } = proxy.ledger;
    targets.setCheckResult(targets.claim(page.key, proxy.clock.now()), result, proxy.clock.now());
  };
  check(CHECK_RESULT.unhealthy);
  proxy.clock.pass(200_000);
  assert.equal(await shareOf(one, proxy, 10), 0);
  check(CHECK_RESULT.healthy);
  const early = await shareOf(one, proxy, 100);
  assert.ok(early > 0 && early < 20, `${early} of 100`);
});

test('a target that had been in rotation when the clock was set back keeps its share', async () => {
  using old = await UpstreamFixture.serving(ok('old'));
  using young = await UpstreamFixture.serving(ok('new'));
  const options = { slow_start_secs: 100 };
  using proxy = await ProxyFixture.start([{ ...site('a.test', old), ...options }]);
  await proxy.request(get());
  proxy.clock.pass(200_000);
  proxy.clock.jump(-3_600_000);
  await proxy.publish([{ ...site('a.test', old, young), ...options }]);
  const early = await shareOf(young, proxy, 100);
  assert.ok(early > 0 && early < 20, `${early} of 100 at once`);
  proxy.clock.pass(101_000);
  assert.equal(await shareOf(young, proxy, 40), 20);
});

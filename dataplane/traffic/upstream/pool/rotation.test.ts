import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { activeCheck } from '../../../ledger/health-checks.ts';
import { CHECK_RESULT, type CheckResult, targetKey } from '../../../ledger/targets.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

type Target = NonNullable<RouteInput['upstreams']>[number];

const route = (upstreams: Target[], more: Partial<RouteInput> = {}): RouteInput => ({ ...site('a.test'), upstreams, ...more });
const asked = async (proxy: ProxyFixture): Promise<string> => {
  const { line, body } = await proxy.request(get());
  return line.includes(' 200 ') ? body : (line.split(' ')[1] ?? '');
};

/** Sets the health check result of a probed target, as the main thread would. */
function setCheckResult(proxy: ProxyFixture, { address, id }: Target, verdict: CheckResult): void {
  const { targets } = proxy.ledger;
  targets.setCheckResult(targets.claim(targetKey(address, false, id), proxy.clock.now()), verdict, proxy.clock.now());
}

test('a starting target with a probe enters the rotation as soon as the ledger reports it healthy, without a table swap', async () => {
  using upstream = await UpstreamFixture.serving(ok('in'));
  const target: Target = { address: upstream.address, id: 'one', state: 'starting', probe: true };
  using proxy = await ProxyFixture.start([route([target])]);
  setCheckResult(proxy, target, CHECK_RESULT.unhealthy);
  assert.equal(await asked(proxy), '503');
  setCheckResult(proxy, target, CHECK_RESULT.healthy);
  assert.equal(await asked(proxy), 'in');
});

test('during the first health check of a pool requests wait for up to 2 s, even without hold', async () => {
  using upstream = await UpstreamFixture.serving(ok('in'));
  const target: Target = { address: upstream.address, id: 'one', state: 'starting', probe: true };
  using proxy = await ProxyFixture.start([route([target])]);
  const waiting = [asked(proxy), asked(proxy)];
  await eventually('both to be waiting', () => proxy.ledger.inFlight.total() === 2);
  setCheckResult(proxy, target, CHECK_RESULT.healthy);
  proxy.clock.pass(250);
  assert.deepEqual(await Promise.all(waiting), ['in', 'in']);
  setCheckResult(proxy, target, CHECK_RESULT.none);
  const unanswered = asked(proxy);
  await eventually('it to be waiting', () => proxy.ledger.inFlight.total() === 1);
  proxy.clock.pass(2_250);
  assert.equal(await unanswered, '503');
});

test('the health of a target says nothing about another target at the same address', async () => {
  using upstream = await UpstreamFixture.serving(ok('in'));
  const target = (id: string): Target => ({ address: upstream.address, id, state: 'starting', probe: true });
  using proxy = await ProxyFixture.start([route([target('one')])]);
  setCheckResult(proxy, target('one'), CHECK_RESULT.healthy);
  assert.equal(await asked(proxy), 'in');
  await proxy.publish([route([target('two')])]);
  setCheckResult(proxy, target('two'), CHECK_RESULT.unhealthy);
  assert.equal(await asked(proxy), '503');
});

test('only targets that are healthy, or have passed their probe, are in rotation', async () => {
  using good = await UpstreamFixture.serving(ok('good'));
  using probed = await UpstreamFixture.serving(ok('probed'));
  using out = await UpstreamFixture.serving(ok('out'));
  const entering: Target = { address: probed.address, state: 'starting', probe: true };
  const others = (['starting', 'unhealthy', 'paused', 'draining'] as const).map((state) => ({ address: out.address, state }));
  using proxy = await ProxyFixture.start([
    route([
      { address: good.address },
      entering,
      ...others,
      { address: out.address, weight: 0 },
      { address: out.address, id: 'x', state: 'starting', probe: true },
    ]),
  ]);
  setCheckResult(proxy, entering, CHECK_RESULT.healthy);
  const answers = new Set<string>();
  for (let request = 0; request < 8; request++) answers.add(await asked(proxy));
  assert.deepEqual([...answers].sort(), ['good', 'probed']);
});

test('a target with health checks is used until a check fails, and again once one succeeds', async () => {
  using upstream = await UpstreamFixture.serving(ok('in'));
  const checked = route([{ address: upstream.address }], { health: { path: '/up' } });
  using proxy = await ProxyFixture.start([checked]);
  const { targets } = proxy.ledger;
  const asking = { address: upstream.address as never, state: 'healthy' as const };
  const check = activeCheck('a.test', asking, false, { path: '/up', interval_secs: 10, timeout_secs: 5 });
  assert.ok(check);
  const slot = targets.claim(check.key, proxy.clock.now());
  for (const [verdict, expected] of [
    [CHECK_RESULT.none, 'in'],
    [CHECK_RESULT.unhealthy, '503'],
    [CHECK_RESULT.healthy, 'in'],
  ] as const) {
    targets.setCheckResult(slot, verdict, proxy.clock.now());
    assert.equal(await asked(proxy), expected);
  }
});

test("a draining target is used only if there is no other and the request can't wait", async () => {
  using leaving = await UpstreamFixture.serving(ok('leaving'));
  using staying = await UpstreamFixture.serving(ok('staying'));
  const draining: Target = { address: leaving.address, id: 'old', state: 'draining' };
  using proxy = await ProxyFixture.start([route([draining, { address: staying.address }])]);
  for (let request = 0; request < 3; request++) assert.equal(await asked(proxy), 'staying');
  await proxy.publish([route([draining, { address: staying.address, state: 'unhealthy' }])]);
  assert.equal(await asked(proxy), 'leaving');
  assert.equal(proxy.dryRun('http://a.test/').verdict, 'forwarded to a target that was told to stop: no other is in rotation');
  await proxy.publish([route([draining], { hold_secs: 10 })]);
  const waiting = await proxy.connect();
  waiting.send(get());
  await proxy.publish([route([draining, { address: staying.address }], { hold_secs: 10 })]);
  assert.equal((await waiting.readAnswer()).body, 'staying');
  assert.equal(leaving.requests.length, 1);
});

test('each worker begins with another target, so that the first requests on connections to several workers are shared out', async () => {
  using one = await UpstreamFixture.serving(ok('one'));
  using two = await UpstreamFixture.serving(ok('two'));
  const routes = [route([{ address: one.address }, { address: two.address }])];
  using first = await ProxyFixture.with(routes, {}, { slot: 0 });
  using second = await ProxyFixture.with(routes, {}, { slot: 1 });
  assert.deepEqual([await asked(first), await asked(second), await asked(second), await asked(first)], ['one', 'two', 'one', 'two']);
});

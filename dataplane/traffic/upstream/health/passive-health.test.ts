import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

const failing = (status: number): string => `HTTP/1.1 ${status} No\r\nContent-Length: 2\r\n\r\nno`;

/** Sends this many requests. @returns how many of them each body came with. */
async function bodies(proxy: ProxyFixture, count: number): Promise<Record<string, number>> {
  const seen: Record<string, number> = {};
  for (let nth = 0; nth < count; nth++) {
    const { body } = await proxy.request(get());
    seen[body] = (seen[body] ?? 0) + 1;
  }
  return seen;
}

test('a target that answers with an unhealthy status leaves the rotation for the time that the route says', async () => {
  using bad = await UpstreamFixture.serving(failing(500));
  using good = await UpstreamFixture.serving(ok('good'));
  const passive = { max_fails: 2, fail_secs: 30, statuses: ['5xx'] };
  using proxy = await ProxyFixture.start([{ ...site('a.test', bad, good), passive_health: passive }]);
  assert.deepEqual(await bodies(proxy, 10), { no: 2, good: 8 });
  assert.deepEqual(
    proxy.targetChanges().map(({ healthy, reason }) => [healthy, reason]),
    [[false, 'the target answers with a status that counts as a failure']],
  );
  proxy.clock.pass(29_000);
  assert.deepEqual(await bodies(proxy, 4), { good: 4 });
  proxy.clock.pass(2_000);
  assert.deepEqual(await bodies(proxy, 10), { no: 1, good: 9 }, 'one request tries it, and fails');
  proxy.clock.pass(31_000);
  assert.deepEqual(await bodies(proxy, 10), { no: 1, good: 9 });
});

test('a success of the one request that tries a target brings it back', async () => {
  let status = 503;
  using flapping = await UpstreamFixture.serving(() => (status === 200 ? ok('back') : failing(status)));
  using good = await UpstreamFixture.serving(ok('good'));
  using proxy = await ProxyFixture.start([{ ...site('a.test', flapping, good), passive_health: { max_fails: 1, statuses: ['503'] } }]);
  assert.deepEqual(await bodies(proxy, 6), { no: 1, good: 5 });
  status = 200;
  proxy.clock.pass(11_000);
  assert.deepEqual(await bodies(proxy, 6), { back: 3, good: 3 });
  assert.equal(proxy.targetChanges().at(-1)?.healthy, true);
});

test('a request that hangs while it tries a target does not let others follow it', async () => {
  let silent = false;
  using hanging = await UpstreamFixture.serving(() => (silent ? null : failing(500)));
  using good = await UpstreamFixture.serving(ok('good'));
  using proxy = await ProxyFixture.start([{ ...site('a.test', hanging, good), passive_health: { max_fails: 1, statuses: ['500'] } }]);
  await bodies(proxy, 2);
  silent = true;
  proxy.clock.pass(11_000);
  for (let nth = 0; nth < 2; nth++) (await proxy.connect()).send(get());
  await eventually('it to be tried', () => hanging.requests.length === 2);
  assert.deepEqual(await bodies(proxy, 20), { good: 20 });
  assert.equal(hanging.requests.length, 2);
});

test('a circuit opens at a share of failures, however they are spread, and lets one request through after a while', async () => {
  let nth = 0;
  using flaky = await UpstreamFixture.serving(() => (nth++ % 2 === 0 ? failing(500) : ok('flaky')));
  using good = await UpstreamFixture.serving(ok('good'));
  const passive = { error_percent: 40, error_requests: 10 };
  using proxy = await ProxyFixture.start([{ ...site('a.test', flaky, good), passive_health: passive }]);
  const seen = await bodies(proxy, 40);
  assert.equal(flaky.requests.length, 11, 'the first failure with ten requests opens it');
  assert.equal(seen.good, 29);
  proxy.clock.pass(11_000);
  await bodies(proxy, 10);
  assert.ok(flaky.requests.length > 12, 'the one request succeeded');
  await proxy.publish([{ ...site('a.test', flaky, good), passive_health: { error_percent: 60, error_requests: 10 } }]);
  const before = flaky.requests.length;
  await bodies(proxy, 40);
  assert.equal(flaky.requests.length, before + 20, 'half of its requests fail, and that is below the limit');
});

test('the last target of a pool stays in rotation even if its circuit opens', async () => {
  using only = await UpstreamFixture.serving(failing(500));
  using proxy = await ProxyFixture.start([{ ...site('a.test', only), passive_health: { error_percent: 10, error_requests: 1 } }]);
  assert.deepEqual(await bodies(proxy, 20), { no: 20 });
  assert.equal(only.requests.length, 20);
});

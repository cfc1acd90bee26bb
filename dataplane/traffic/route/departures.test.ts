import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../shared/route.ts';
import { CHECK_RESULT, targetKey } from '../../ledger/targets.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import type { Wire } from '../testing/wire.ts';

type Target = NonNullable<RouteInput['upstreams']>[number];

const route = (upstreams: Target[], more: Partial<RouteInput> = {}): RouteInput => ({ ...site('a.test'), upstreams, ...more });
const POST = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi';

/** A request that its target has received and not answered. */
async function stuck(proxy: ProxyFixture, upstream: UpstreamFixture, text = get()): Promise<Wire> {
  const client = await proxy.connect();
  client.send(text);
  const before = upstream.requests.length;
  await eventually('the target to have the request', () => upstream.requests.length > before);
  return client;
}

const silent = () => UpstreamFixture.serving(() => null);

test('a request that waits for a paused target is retried on another target at once', async () => {
  using paused = await silent();
  using other = await UpstreamFixture.serving((request) => ok(`${request.line} ${request.body}`));
  using proxy = await ProxyFixture.start([route([{ address: paused.address }])]);
  const clients = [await stuck(proxy, paused), await stuck(proxy, paused, POST.replace('POST', 'PUT'))];
  await proxy.publish([route([{ address: paused.address, state: 'paused' }, { address: other.address }])]);
  assert.equal((await clients[0]?.readAnswer())?.body, 'GET / HTTP/1.1 ');
  assert.equal((await clients[1]?.readAnswer())?.body, 'PUT / HTTP/1.1 hi');
  const { targets } = proxy.ledger;
  assert.equal(targets.inFlight(targets.find(targetKey(paused.address, false))), 0);
});

test('a request that may have been executed, or whose response has begun, keeps waiting for its target', async () => {
  using paused = await silent();
  using other = await UpstreamFixture.serving(ok('other'));
  using proxy = await ProxyFixture.start([route([{ address: paused.address }])]);
  const [post, begun] = [await stuck(proxy, paused, POST), await stuck(proxy, paused)];
  paused.connections[1]?.send('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbe');
  await begun.until('the beginning', () => begun.unread.includes('be'));
  await proxy.publish([route([{ address: paused.address, state: 'paused' }, { address: other.address }])]);
  paused.connections[0]?.send(ok('resumed'));
  paused.connections[1]?.send('gun');
  assert.equal((await post.readAnswer()).body, 'resumed');
  assert.equal((await begun.readAnswer()).body, 'begun');
  assert.equal(other.requests.length, 0);
});

test('without another target a request keeps waiting for its own, or for any target if the site has hold', async () => {
  using paused = await silent();
  using proxy = await ProxyFixture.start([route([{ address: paused.address }])]);
  const patient = await stuck(proxy, paused);
  await proxy.publish([route([{ address: paused.address, state: 'paused' }])]);
  paused.connections[0]?.send(ok('resumed'));
  assert.equal((await patient.readAnswer()).body, 'resumed');

  using second = await UpstreamFixture.serving(ok('second'));
  await proxy.publish([route([{ address: paused.address }], { hold_secs: 10 })]);
  const held = await stuck(proxy, paused);
  await proxy.publish([route([{ address: paused.address, state: 'paused' }], { hold_secs: 10 })]);
  await proxy.publish([route([{ address: second.address }], { hold_secs: 10 })]);
  assert.equal((await held.readAnswer()).body, 'second');
});

test('a target with an id that no route lists any more has stopped, so its requests are retried elsewhere', async () => {
  using dead = await silent();
  using next = await UpstreamFixture.serving(ok('next'));
  using proxy = await ProxyFixture.start([route([{ address: dead.address, id: 'one' }], { hold_secs: 10 })]);
  const client = await stuck(proxy, dead);
  await proxy.publish([route([], { hold_secs: 10 })]);
  await proxy.publish([route([{ address: next.address, id: 'two' }], { hold_secs: 10 })]);
  assert.equal((await client.readAnswer()).body, 'next');
});

test('a removed target without an id, or one that another route lists, completes its requests', async () => {
  using first = await silent();
  using next = await UpstreamFixture.serving(ok('next'));
  const named = { address: first.address, id: 'one' };
  using proxy = await ProxyFixture.start([route([{ address: first.address }])]);
  const plain = await stuck(proxy, first);
  await proxy.publish([route([named])]);
  const shared = await stuck(proxy, first);
  await proxy.publish([{ ...route([named]), domain: 'b.test' }]);
  proxy.dryRun('http://b.test/');
  await proxy.publish([route([{ address: next.address }])]);
  for (const connection of first.connections) connection.send(ok('kept'));
  assert.equal((await plain.readAnswer()).body, 'kept');
  assert.equal((await shared.readAnswer()).body, 'kept');
  assert.equal(next.requests.length, 0);
});

test('idle connections to a target are closed when it leaves its last route, starts draining or is replaced', async () => {
  using upstream = await UpstreamFixture.serving(ok('hi'));
  using other = await UpstreamFixture.serving(ok('other'));
  const target: Target = { address: upstream.address, id: 'one' };
  using proxy = await ProxyFixture.start([route([target])]);
  const changes: RouteInput[] = [
    route([{ ...target, state: 'draining' }, { address: other.address }]),
    route([{ address: other.address }]),
    route([{ ...target, id: 'two' }]),
  ];
  for (const change of changes) {
    await proxy.publish([route([target])]);
    await proxy.request(get());
    const connection = upstream.connections.at(-1);
    assert.equal(connection?.ended, false);
    await proxy.publish([change]);
    await connection?.until('the end', () => connection.ended || connection.closed);
  }
});

test('idle connections survive every change that keeps their target', async () => {
  using upstream = await UpstreamFixture.serving(ok('hi'));
  using second = await UpstreamFixture.serving(ok('hi'));
  const target: Target = { address: upstream.address, id: 'one' };
  using proxy = await ProxyFixture.start([route([target])]);
  await proxy.request(get());
  await proxy.publish([route([target], { headers: [{ name: 'X-New', value: 'yes' }] })]);
  await proxy.publish([route([target, { address: second.address, id: 'two', state: 'starting' }])]);
  for (let turn = 0; turn < 3; turn++) await proxy.request(get());
  assert.equal(upstream.connections.length, 1);
});

test('a connection whose response ends after its target started draining is not reused', async () => {
  using upstream = await silent();
  const target: Target = { address: upstream.address, id: 'one' };
  using proxy = await ProxyFixture.start([route([target])]);
  const client = await stuck(proxy, upstream);
  await proxy.publish([route([{ ...target, state: 'draining' }])]);
  const connection = upstream.connections[0];
  connection?.send(ok('last'));
  assert.equal((await client.readAnswer()).body, 'last');
  await connection?.until('the end', () => connection.ended);
});

test("failures of a target don't count against another target that now has its address", async () => {
  using upstream = await UpstreamFixture.serving((_, wire) => {
    wire.reset();
    return null;
  });
  const target: Target = { address: upstream.address, id: 'one' };
  using proxy = await ProxyFixture.start([route([target])]);
  await proxy.request(get());
  const { targets } = proxy.ledger;
  const failures = (id: string) => targets.failures(targets.find(targetKey(upstream.address, false, id)));
  assert.ok(failures('one') > 0);
  await proxy.publish([route([{ ...target, id: 'two' }])]);
  proxy.dryRun('http://a.test/');
  assert.equal(failures('two'), 0);
});

test('waiting requests are sent to a target as soon as the ledger admits it', async () => {
  using upstream = await UpstreamFixture.serving(ok('in'));
  const target: Target = { address: upstream.address, id: 'one', state: 'starting', probe: true };
  using proxy = await ProxyFixture.start([route([target], { hold_secs: 10 })]);
  const clients = [await proxy.connect(), await proxy.connect()];
  for (const client of clients) client.send(get());
  await eventually('both to be waiting', () => proxy.ledger.inFlight.total() === 2);
  const { targets } = proxy.ledger;
  targets.setCheckResult(
    targets.claim(targetKey(target.address, false, 'one'), proxy.clock.now()),
    CHECK_RESULT.healthy,
    proxy.clock.now(),
  );
  proxy.notifyVerdicts();
  for (const client of clients) assert.equal((await client.readAnswer()).body, 'in');
});

import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { RouteInput } from '../../../shared/route.ts';
import { targetKey } from '../../ledger/targets.ts';
import { packEntries } from '../match/packed.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { freeAddress, ok, refusingAddress, UpstreamFixture } from '../testing/test-upstream.ts';
import { field, type Wire } from '../testing/wire.ts';

const holding = (hold_secs: number, ...upstreams: readonly { readonly address: string }[]): RouteInput => ({
  ...site('a.test', ...upstreams),
  hold_secs,
});

const noneInRotation = (hold_secs: number): RouteInput => ({
  ...holding(hold_secs),
  upstreams: [{ address: '127.0.0.1:1', state: 'starting' }],
});

/** Sends a request and waits until it is under way. */
async function sendWaiting(proxy: ProxyFixture, text = get()): Promise<Wire> {
  const before = proxy.ledger.inFlight.total();
  const client = await proxy.connect();
  client.send(text);
  await eventually('the request to be under way', () => proxy.ledger.inFlight.total() > before);
  return client;
}

/** A target that starts listening on an address that has refused connections. */
async function listening(address: string): Promise<{ connections: number; [Symbol.dispose](): void }> {
  const state = { connections: 0, [Symbol.dispose]: () => void server.close() };
  const server: Server = createServer((socket) => {
    state.connections++;
    socket.on('error', () => undefined);
    socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nheld'));
  });
  const [host, port] = address.split(':');
  await new Promise<void>((resolve) => server.listen(Number(port), host, resolve));
  return state;
}

test('without hold, a request that no target can take is answered at once', async () => {
  using proxy = await ProxyFixture.start([noneInRotation(0)]);
  assert.match((await proxy.request(get())).line, / 503 /);
  await proxy.publish([site('a.test', { address: await refusingAddress() })]);
  assert.match((await proxy.request(get())).line, / 502 /);
});

test('a site without targets is still routed: it answers 503 or waits for the next target', async () => {
  using upstream = await UpstreamFixture.serving(ok('back'));
  using proxy = await ProxyFixture.start([site('a.test')]);
  assert.match((await proxy.request(get())).line, / 503 /);
  await proxy.publish([holding(10)]);
  const waiting = await sendWaiting(proxy);
  await proxy.publish([holding(10, upstream)]);
  assert.equal((await waiting.readAnswer()).body, 'back');
});

test('a request waits for a target to enter the rotation and is sent under the table that brings it', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(`${request.line} ${request.body}`));
  using proxy = await ProxyFixture.start([noneInRotation(10)]);
  const waiting = [await sendWaiting(proxy), await sendWaiting(proxy, 'POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi')];
  proxy.clock.pass(9_000);
  await proxy.publish([holding(10, upstream)]);
  assert.equal((await waiting[0]?.readAnswer())?.body, 'GET / HTTP/1.1 ');
  assert.equal((await waiting[1]?.readAnswer())?.body, 'POST /x HTTP/1.1 hi');
});

test('a waiting request is served by the new table, including its policies', async () => {
  using upstream = await UpstreamFixture.serving(ok('never'));
  using proxy = await ProxyFixture.start([noneInRotation(10)]);
  const waiting = await sendWaiting(proxy);
  await proxy.publish([{ ...holding(10, upstream), redirects: [{ from: '/', to: '/elsewhere', status: 302 }] }]);
  assert.match((await waiting.readAnswer()).line, / 302 /);
  assert.equal(upstream.requests.length, 0);
});

test('a request that waits is served by a table that has no targets for it at once, and never sent to the earlier ones', async () => {
  for (const [next, status] of [
    [{ ...holding(10), respond: { status: 403, body: 'closed' } }, ' 403 '],
    [null, ' 404 '],
  ] as const) {
    const address = await freeAddress();
    using proxy = await ProxyFixture.start([holding(10, { address })]);
    const waiting = await sendWaiting(proxy);
    if (next !== null) await proxy.publish([next]);
    else await proxy.apply({ whole: false, ...packEntries([]), removed: ['a.test'] });
    using target = await listening(address);
    proxy.clock.pass(1_000);
    assert.match((await waiting.readAnswer()).line, new RegExp(status));
    assert.equal(target.connections, 0);
  }
});

test('a request whose target drops it after its route was removed is answered by the new table and does not wait', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([holding(10, upstream)]);
  const client = await sendWaiting(proxy);
  const { wire } = await upstream.nextRequest();
  await proxy.apply({ whole: false, ...packEntries([]), removed: ['a.test'] });
  wire.reset();
  assert.match((await client.readAnswer()).line, / 404 /);
});

test('a request that waits in vain is a 503 with Retry-After if no target is in rotation, and a 502 if none accepts connections', async () => {
  for (const [route, status] of [
    [noneInRotation(10), '503'],
    [holding(10, { address: await refusingAddress() }), '502'],
  ] as const) {
    using proxy = await ProxyFixture.start([route]);
    const client = await sendWaiting(proxy);
    proxy.clock.pass(9_750);
    assert.equal(proxy.ledger.inFlight.total(), 1);
    await eventually('the time to expire', () => {
      proxy.clock.pass(250);
      return proxy.ledger.inFlight.total() === 0;
    });
    const answer = await client.readAnswer();
    assert.match(answer.line, new RegExp(` ${status} `));
    assert.equal(field(answer.head, 'Retry-After'), status === '503' ? '1' : null);
  }
});

test('a pool whose target refuses is probed by one request every 250 ms, and the others follow the first connection', async () => {
  const address = await freeAddress();
  using proxy = await ProxyFixture.start([holding(10, { address })]);
  const clients = [await sendWaiting(proxy), await sendWaiting(proxy), await sendWaiting(proxy)];
  const { targets } = proxy.ledger;
  const slot = targets.find(targetKey(address, false));
  await eventually('all to have failed', () => targets.failures(slot) === 3);
  for (const tries of [4, 5]) {
    proxy.clock.pass(250);
    await eventually('one of them to be sent as a probe', () => targets.failures(slot) >= tries);
    assert.equal(targets.failures(slot), tries);
  }
  using target = await listening(address);
  await eventually('a probe', () => {
    proxy.clock.pass(250);
    return target.connections > 0;
  });
  for (const client of clients) assert.equal((await client.readAnswer()).body, 'held');
  assert.equal(target.connections, 3);
});

test('upgrade requests wait like all others, and can be the probe', async () => {
  const address = await freeAddress();
  using proxy = await ProxyFixture.start([holding(10, { address })]);
  const upgrade = get('/', 'Connection: Upgrade\r\nUpgrade: chat\r\n');
  const clients = [await sendWaiting(proxy, upgrade), await sendWaiting(proxy)];
  using target = await listening(address);
  await eventually('a probe', () => {
    proxy.clock.pass(250);
    return target.connections > 0;
  });
  for (const client of clients) assert.equal((await client.readAnswer()).body, 'held');
});

test('a client that disconnects stops waiting and does not prevent others from being tried', async () => {
  const address = await freeAddress();
  using proxy = await ProxyFixture.start([holding(10, { address })]);
  const [first, second] = [await sendWaiting(proxy), await sendWaiting(proxy)];
  first?.reset();
  await eventually('the client to disconnect', () => proxy.ledger.inFlight.total() === 1);
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 0, 0, 0, 0, 1]);
  using target = await listening(address);
  await eventually('a probe', () => {
    proxy.clock.pass(250);
    return target.connections > 0;
  });
  assert.equal((await second?.readAnswer())?.body, 'held');
});

test('a streaming body is not read while its request waits, and reaches the target complete', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(String(request.body.length)));
  using proxy = await ProxyFixture.start([noneInRotation(120)]);
  const client = await sendWaiting(proxy, 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3000000\r\n\r\n');
  client.send('x'.repeat(3_000_000));
  proxy.clock.pass(90_000);
  await proxy.publish([holding(120, upstream)]);
  assert.equal((await client.readAnswer()).body, '3000000');
});

test('a request that targets accept and drop is sent four times in all, at least 250 ms apart', async () => {
  using upstream = await UpstreamFixture.serving((_, wire) => {
    wire.reset();
    return null;
  });
  using proxy = await ProxyFixture.start([holding(10, upstream)]);
  const client = await sendWaiting(proxy);
  await eventually('the request to be dropped', () => upstream.requests.length === 1);
  for (const times of [2, 3, 4]) {
    proxy.clock.pass(249);
    await setImmediate();
    assert.ok(upstream.requests.length < times);
    await eventually(`the request to be sent ${times} times`, () => {
      proxy.clock.pass(125);
      return upstream.requests.length === times;
    });
  }
  assert.match((await client.readAnswer()).line, / 502 /);
  assert.equal(upstream.requests.length, 4);
});

test('a request dropped by a target that is draining waits for the next target', async () => {
  const taken: Wire[] = [];
  using leaving = await UpstreamFixture.serving((_, wire) => {
    taken.push(wire);
    return null;
  });
  using next = await UpstreamFixture.serving(ok('next'));
  using proxy = await ProxyFixture.start([holding(10, leaving)]);
  const client = await sendWaiting(proxy);
  await eventually('the request to arrive', () => taken.length === 1);
  await proxy.publish([{ ...holding(10), upstreams: [{ address: leaving.address, state: 'draining' }] }]);
  taken[0]?.reset();
  await proxy.publish([holding(10, next)]);
  await eventually('the next target to receive it', () => {
    proxy.clock.pass(250);
    return next.requests.length === 1;
  });
  assert.equal((await client.readAnswer()).body, 'next');
});

test('a request that must not be sent twice does not wait when a target drops it', async () => {
  using upstream = await UpstreamFixture.serving((_, wire) => {
    wire.reset();
    return null;
  });
  using proxy = await ProxyFixture.start([holding(10, upstream)]);
  assert.match((await proxy.request('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n')).line, / 502 /);
});

test('a request that is dropped after a new table was published is sent to the target of that table', async () => {
  using next = await UpstreamFixture.serving(ok('next'));
  const taken: Wire[] = [];
  using upstream = await UpstreamFixture.serving((_, wire) => {
    taken.push(wire);
    return null;
  });
  using proxy = await ProxyFixture.start([holding(10, upstream)]);
  const client = await sendWaiting(proxy);
  await eventually('the request to arrive', () => taken.length === 1);
  await proxy.publish([holding(10, next)]);
  taken[0]?.reset();
  await eventually('the request to wait', () => {
    proxy.clock.pass(250);
    return next.requests.length === 1;
  });
  assert.equal((await client.readAnswer()).body, 'next');
});

test('a block may have hold although its site does not, and vice versa', async () => {
  const down = { address: await refusingAddress() };
  const route: RouteInput = { ...holding(10, down), handles: [{ path: '/now/*', hold_secs: null }, { path: '/later/*' }] };
  using proxy = await ProxyFixture.start([route]);
  assert.match((await proxy.request(get('/now/x'))).line, / 502 /);
  await sendWaiting(proxy, get('/later/x'));
  proxy.clock.pass(5_000);
  assert.equal(proxy.ledger.inFlight.total(), 1);
});

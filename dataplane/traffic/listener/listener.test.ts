import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field, Wire } from '../testing/wire.ts';

const drained = (proxy: ProxyFixture) => proxy.messages.some(({ kind }) => kind === 'drained');

test('draining closes idle connections, and responses under way carry Connection: close', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const idle = await proxy.connect();
  const busy = await proxy.connect();
  busy.send(get());
  const { wire } = await upstream.nextRequest();
  proxy.drain();
  assert.equal(await idle.readAll(), '');
  assert.equal(drained(proxy), false);
  wire.send(ok('whole'));
  const answer = await busy.readAnswer();
  assert.equal(answer.body, 'whole');
  assert.equal(field(answer.head, 'Connection'), 'close');
  await busy.until('the end', () => busy.ended);
  busy.end();
  idle.end();
  await eventually('the worker to finish', () => drained(proxy));
});

test('a response whose head was sent before draining began is completed, then its connection closes', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc');
  await client.readThrough('abc');
  proxy.drain();
  wire.send('def');
  assert.equal(await client.readAll(), 'def');
  client.end();
  await eventually('the worker to finish', () => drained(proxy));
});

test('a request that has partly arrived when draining begins is answered', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get() + get().slice(0, 20));
  await client.readAnswer();
  proxy.drain();
  client.send(get().slice(20));
  const answer = await client.readAnswer();
  assert.equal(field(answer.head, 'Connection'), 'close');
});

test('no connection is accepted once those that had arrived when draining began have been', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const { port } = proxy;
  proxy.drain();
  await eventually('the port to close', () => proxy.port === 0);
  await assert.rejects(Wire.to(port), { code: 'ECONNREFUSED' });
});

test('a request that had arrived when draining began is answered, whether its connection had been accepted or not', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const kept = await proxy.connect();
  kept.send(get());
  await kept.readAnswer();
  const fresh = await proxy.connect();
  const arriving = Wire.to(proxy.port);
  // The system establishes the connection, and nobody accepts it before this turn ends.
  await new Promise((resolve) => process.nextTick(resolve));
  for (const client of [kept, fresh]) client.send(get());
  proxy.drain();
  const queued = await arriving;
  queued.send(get());
  for (const client of [kept, fresh, queued]) {
    const answer = await client.readAnswer();
    assert.deepEqual([answer.body, field(answer.head, 'Connection')], ['x', 'close']);
    client.end();
  }
  await eventually('the worker to finish', () => drained(proxy));
});

test('a drain that closes idle connections on a response serves one more request on each, with Connection: close', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const kept = await proxy.connect();
  kept.send(get());
  await kept.readAnswer();
  const fresh = await proxy.connect();
  proxy.drain('on-response');
  for (const client of [kept, fresh]) {
    client.send(get());
    const answer = await client.readAnswer();
    assert.equal(answer.body, 'x');
    assert.equal(field(answer.head, 'Connection'), 'close');
    await client.until('the end', () => client.ended);
    client.end();
  }
  await eventually('the worker to finish', () => drained(proxy));
});

test('such a drain waits 5 s for those requests, unless a second one closes idle connections now', async () => {
  for (const hurry of [false, true]) {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.before(upstream);
    const kept = await proxy.connect();
    kept.send(get());
    await kept.readAnswer();
    proxy.drain('on-response');
    proxy.clock.pass(4_000);
    assert.equal(drained(proxy), false);
    assert.equal(kept.ended, false);
    if (hurry) proxy.drain();
    else proxy.clock.pass(2_000);
    await kept.until('the end', () => kept.ended || kept.closed);
    kept.end();
    await eventually('the worker to finish', () => drained(proxy));
  }
});

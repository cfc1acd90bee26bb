import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { eventually, get, ProxyFixture, whenRead } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import type { Wire } from '../testing/wire.ts';

test("a head that arrives slowly has 10 s in all, and its bytes don't extend the deadline", async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  const text = get();
  for (let second = 0; second < 9; second++) {
    client.send(text.slice(second, second + 1));
    await whenRead();
    proxy.clock.pass(1_000);
  }
  await whenRead();
  assert.equal(client.total, 0);
  client.send(text.slice(9, 10));
  await whenRead();
  proxy.clock.pass(2_000);
  assert.match((await client.readAnswer()).line, /^HTTP\/1\.1 408 /);
  assert.equal(upstream.connections.length, 0);
});

test('the next head also has 10 s, and empty lines keep a connection open for at most a minute', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const [dripping, blank] = [await proxy.connect(), await proxy.connect()];
  for (const client of [dripping, blank]) {
    client.send(get());
    await client.readAnswer();
  }
  proxy.clock.pass(1_000);
  dripping.send('GET');
  await whenRead();
  for (let second = 0; second < 61; second++) {
    blank.send('\r\n');
    if (second === 11) assert.match((await dripping.readAnswer()).line, /^HTTP\/1\.1 408 /);
    if (second < 50) assert.equal(blank.ended || blank.closed, false);
    await whenRead();
    proxy.clock.pass(1_000);
  }
  await blank.until('the end', () => blank.ended || blank.closed);
});

test('a body that stalls for a minute is given up, buffered or streamed', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const [held, streaming] = [await proxy.connect(), await proxy.connect()];
  // Fast enough on average for the duration of the test.
  const enough = 'x'.repeat(60_000);
  held.send(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 65536\r\n\r\n${enough}12345`);
  streaming.send(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000\r\n\r\n${enough}12345`);
  const wire = await upstream.accept();
  await wire.readThrough('12345');
  for (const at of [1, 2]) {
    proxy.clock.pass(50_000);
    held.send(String(at));
    streaming.send(String(at));
    await wire.readThrough(String(at));
  }
  assert.equal(held.ended || streaming.ended, false);
  proxy.clock.pass(1_000);
  await nextTurn();
  proxy.clock.pass(60_000);
  await held.until('the end', () => held.closed || held.ended);
  await streaming.until('the end', () => streaming.closed || streaming.ended);
  await wire.until('the request to be cut off', () => wire.closed || wire.ended);
  assert.equal(proxy.ledger.inFlight.total(), 0);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a client that stalls in its upload is not cut off while the response flows, but a minute after the response stops', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n');
  const wire = await upstream.accept();
  await wire.readThrough('hello');
  wire.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  await client.readHead();
  for (let minute = 0; minute < 8; minute++) {
    wire.send('1\r\nx\r\n');
    assert.equal(await client.readThrough('x\r\n'), '1\r\nx\r\n');
    proxy.clock.pass(40_000);
    await whenRead();
    assert.equal(client.closed, false);
  }
  // Also longer than the upstream may be silent. Whichever side is checked first, the client is cut off.
  proxy.clock.pass(130_000);
  await client.until('the end', () => client.closed || client.ended);
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
});

test('500 clients that send small bodies slowly occupy no upstream connection, and others are served meanwhile', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const slow: Wire[] = [];
  for (let at = 0; at < 500; at++) {
    const client = await proxy.connect();
    client.send(`POST /${at} HTTP/1.1\r\nHost: a.test\r\nContent-Length: 65536\r\n\r\nslow`);
    slow.push(client);
  }
  await eventually('all of them to be under way', () => proxy.ledger.inFlight.total() === 500);
  assert.equal(upstream.connections.length, 0);
  assert.equal((await proxy.request(get())).body, 'x');
  for (const client of slow) client.send('more');
  assert.equal((await proxy.request(get())).body, 'x');
  assert.equal(upstream.connections.length, 1);
  assert.equal(upstream.requests.length, 2);
  for (const client of slow) client.reset();
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0 && proxy.ledger.connections.open() === 2);
  assert.equal(upstream.requests.length, 2);
});

test('a 16 KB head may arrive byte by byte', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  const lines = Array.from({ length: 60 }, (_, at) => `X-Field-${at}: ${'v'.repeat(240)}\r\n`).join('');
  const text = get('/', lines);
  assert.ok(text.length > 15_000 && text.length < 16_384);
  for (const byte of text) {
    client.send(byte);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await client.readAnswer()).body, 'x');
  assert.ok(upstream.requests[0]?.head.includes('X-Field-59'));
});

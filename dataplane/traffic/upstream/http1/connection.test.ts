import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

async function underWay(fields = '') {
  const upstream = await UpstreamFixture.start();
  const proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get('/', fields));
  const { wire, request } = await upstream.nextRequest();
  const end = () => {
    upstream[Symbol.dispose]();
    proxy[Symbol.dispose]();
  };
  return { upstream, proxy, client, wire, request, [Symbol.dispose]: end };
}

test('a chunked response arrives chunked, with its trailers, and both connections stay open', async () => {
  using way = await underWay();
  way.wire.send('HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n');
  const answer = await way.client.readAnswer();
  assert.equal(answer.body, 'abcde');
  assert.equal(answer.trailers, 'X-Sum: 5\r\n');
  way.client.send(get());
  await way.wire.readRequest();
  way.wire.send(ok('next'));
  assert.equal((await way.client.readAnswer()).body, 'next');
});

test('a response may arrive byte by byte', async () => {
  using way = await underWay();
  for (const byte of 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n') {
    way.wire.send(byte);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.match((await way.client.readAnswer()).head, /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>\r\n\r\n$/);
  assert.equal((await way.client.readAnswer()).body, 'abc');
});

test('interim responses are passed on at once, but only to HTTP/1.1 clients', async () => {
  using way = await underWay();
  way.wire.send('HTTP/1.1 102 Processing\r\n\r\n');
  assert.equal((await way.client.readAnswer()).line, 'HTTP/1.1 102 Processing');
  way.wire.send('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
  assert.equal((await way.client.readAnswer()).line, 'HTTP/1.1 103 Early Hints');
  way.wire.send(ok('final'));
  assert.equal((await way.client.readAnswer()).body, 'final');

  const old = await way.proxy.connect();
  old.send('GET / HTTP/1.0\r\nHost: a.test\r\n\r\n');
  await way.wire.readRequest();
  way.wire.send(`HTTP/1.1 103 Early Hints\r\n\r\n${ok('final')}`);
  const all = await old.readAll();
  assert.doesNotMatch(all, / 103 /);
  assert.match(all, /final$/);
});

test('each event of an event stream arrives before the next one is sent', async () => {
  using way = await underWay('Accept: text/event-stream\r\n');
  way.wire.send('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
  assert.equal(field(await way.client.readHead(), 'Content-Type'), 'text/event-stream');
  for (const event of ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n']) {
    way.wire.send(`${event.length.toString(16)}\r\n${event}\r\n`);
    assert.equal(await way.client.readThrough('\n\n\r\n'), `9\r\n${event}\r\n`);
  }
});

test('a response delimited by the close is chunked for an HTTP/1.1 client, whose connection stays open', async () => {
  using way = await underWay();
  way.wire.send('HTTP/1.1 200 OK\r\n\r\nabc');
  await way.client.readThrough('abc');
  way.wire.end('def');
  assert.match(await way.client.readThrough('0\r\n\r\n'), /def\r\n0\r\n\r\n$/);
  way.client.send(get());
  (await way.upstream.nextRequest()).wire.send(ok('next'));
  assert.equal((await way.client.readAnswer()).body, 'next');
});

test('a response from an HTTP/1.0 upstream is passed on', async () => {
  using way = await underWay();
  way.wire.end('HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc');
  const answer = await way.client.readAnswer();
  assert.equal(answer.line, 'HTTP/1.1 200 OK');
  assert.equal(answer.body, 'abc');
});

test('a connection that its target closes after the response is not reused', async () => {
  using way = await underWay();
  way.wire.send(ok('x', 'Connection: close\r\n'));
  await way.client.readAnswer();
  await way.wire.until('the end', () => way.wire.ended || way.wire.closed);
  way.client.send(get());
  (await way.upstream.nextRequest()).wire.send(ok('y'));
  assert.equal((await way.client.readAnswer()).body, 'y');
});

test('Host and the target are forwarded as sent, and hop-by-hop fields are dropped in both directions', async () => {
  using way = await underWay(
    'Connection: X-Private, keep-alive\r\nX-Private: 1\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: timeout=5\r\nX-Kept: 1\r\n',
  );
  for (const name of ['Connection', 'X-Private', 'TE', 'Upgrade', 'Keep-Alive']) assert.equal(field(way.request.head, name), null, name);
  assert.equal(field(way.request.head, 'Host'), 'a.test');
  assert.equal(field(way.request.head, 'X-Kept'), '1');
  way.wire.send(
    ok('x', 'Connection: X-Private\r\nX-Private: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nServer: origin\r\n'),
  );
  const { head } = await way.client.readAnswer();
  for (const name of ['Connection', 'X-Private', 'Keep-Alive']) assert.equal(field(head, name), null, name);
  assert.equal(field(head, 'Server'), 'origin');
  assert.equal(field(head, 'Via'), null);
});

test('a Date is added only if the target sends none', async () => {
  using way = await underWay();
  way.wire.send(ok('x'));
  assert.match(field((await way.client.readAnswer()).head, 'Date') ?? '', / GMT$/);
  way.client.send(get());
  await way.wire.readRequest();
  way.wire.send(ok('x', 'Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n'));
  assert.equal(field((await way.client.readAnswer()).head, 'Date'), 'Thu, 01 Jan 1970 00:00:00 GMT');
});

test('the port in Host is forwarded too', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(field(request.head, 'Host') ?? ''));
  using proxy = await ProxyFixture.before(upstream);
  assert.equal((await proxy.request(get().replace('a.test', 'A.Test.:8080'))).body, 'A.Test.:8080');
});

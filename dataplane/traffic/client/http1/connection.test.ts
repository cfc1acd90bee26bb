import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AcceptedSocket } from '../../io/accepted-socket.ts';
import { eventually, get, ProxyFixture, site, whenRead } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

const respond = (domain: string, body: string) => ({ domain, upstream: null, tls: false, respond: { status: 200, body } });

test('a connection carries several requests in turn, and so does the one to the upstream', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(request.line));
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  for (const path of ['/1', '/2', '/3']) {
    client.send(get(path));
    assert.equal((await client.readAnswer()).body, `GET ${path} HTTP/1.1`);
  }
  assert.equal(upstream.connections.length, 1);
});

test('pipelined requests are answered in order, however long each takes', async () => {
  using upstream = await UpstreamFixture.serving((request, wire) => {
    const answer = ok(request.line);
    if (!request.line.includes('slow')) return answer;
    setTimeout(() => wire.send(answer), 30);
    return null;
  });
  using proxy = await ProxyFixture.start([site('a.test', upstream), respond('own.test', 'own')]);
  const client = await proxy.connect();
  client.send(get('/slow-1') + get('/2') + get('/3').replace('a.test', 'own.test') + get('/slow-4') + get('/5'));
  const bodies: string[] = [];
  for (let nth = 0; nth < 5; nth++) bodies.push((await client.readAnswer()).body);
  assert.deepEqual(bodies, ['GET /slow-1 HTTP/1.1', 'GET /2 HTTP/1.1', 'own', 'GET /slow-4 HTTP/1.1', 'GET /5 HTTP/1.1']);
});

test('a thousand pipelined requests for a fixed response are answered in order', async () => {
  using proxy = await ProxyFixture.start([respond('a.test', 'x')]);
  const client = await proxy.connect();
  client.send(get('/', 'Connection: keep-alive\r\n').repeat(1_000));
  for (let nth = 0; nth < 1_000; nth++) assert.equal((await client.readAnswer()).body, 'x');
  assert.equal(proxy.counted().get('a.test')?.requests, 1_000);
});

test('a request may arrive byte by byte, after empty lines', async () => {
  using proxy = await ProxyFixture.start([respond('a.test', 'x')]);
  const client = await proxy.connect();
  for (const byte of `\r\n\r\n${get()}`) {
    client.send(byte);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await client.readAnswer()).body, 'x');
});

test('an HTTP/1.0 connection closes after one response unless the client asks for keep-alive', async () => {
  using upstream = await UpstreamFixture.serving(ok('hello'));
  using proxy = await ProxyFixture.before(upstream);
  const once = await proxy.connect();
  once.send('GET / HTTP/1.0\r\nHost: a.test\r\n\r\n');
  const answer = await once.readAll();
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(answer, /\r\nConnection: close\r\n(.*\r\n)*\r\nhello$/);
  const kept = await proxy.connect();
  for (let nth = 0; nth < 2; nth++) {
    kept.send('GET / HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n');
    assert.equal(field((await kept.readAnswer()).head, 'Connection'), 'keep-alive');
  }
});

test('a chunked response to an HTTP/1.0 client is sent without its coding and ended by closing the connection', async () => {
  using upstream = await UpstreamFixture.serving(
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n',
  );
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send('GET / HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n');
  const answer = await client.readAll();
  assert.match(answer, /\r\n\r\nabcde$/);
  assert.doesNotMatch(answer, /Transfer-Encoding|keep-alive/i);
});

test('a request with Connection: close is answered, then the connection closes and pipelined requests are dropped', async () => {
  using proxy = await ProxyFixture.start([respond('a.test', 'x')]);
  const client = await proxy.connect();
  client.send(get('/', 'Connection: close\r\n') + get('/2'));
  const answer = await client.readAll();
  assert.match(answer, /\r\nConnection: close\r\n/);
  assert.equal(answer.split('HTTP/1.1 200').length, 2);
});

test('a connection is closed without a stream after a response of our own to a request with Connection: close, unless more follows', async (t) => {
  const { mock } = t.mock.getter(AcceptedSocket.prototype, 'socket');
  using proxy = await ProxyFixture.start([respond('a.test', 'x')]);
  const [client, other] = [await proxy.connect(), await proxy.connect()];
  client.send(get('/', 'Connection: close\r\n'));
  assert.match(await client.readAll(), /\r\n\r\nx$/);
  assert.equal(mock.callCount(), 0);
  other.send(`${get('/', 'Connection: close\r\n')}more`);
  assert.match(await other.readAll(), /\r\n\r\nx$/);
  assert.equal(mock.callCount(), 1);
});

test('HEAD is answered with Content-Length but no body, and the connection stays open', async () => {
  using upstream = await UpstreamFixture.serving('HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n');
  using proxy = await ProxyFixture.start([site('a.test', upstream), respond('own.test', 'own')]);
  const client = await proxy.connect();
  client.send(get().replace('GET', 'HEAD'));
  assert.equal(field((await client.readAnswer('HEAD')).head, 'Content-Length'), '1234');
  client.send(get().replace('GET', 'HEAD').replace('a.test', 'own.test'));
  assert.equal(field((await client.readAnswer('HEAD')).head, 'Content-Length'), '3');
  client.send(get().replace('a.test', 'own.test'));
  assert.equal((await client.readAnswer()).body, 'own');
});

for (const [name, head] of [
  ['204', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ['304', 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 99\r\n\r\n'],
] as const)
  test(`${name} is sent without a body and without misleading framing, and the connection stays open`, async () => {
    let nth = 0;
    using upstream = await UpstreamFixture.serving(() => (nth++ === 0 ? head : ok('next')));
    using proxy = await ProxyFixture.before(upstream);
    const client = await proxy.connect();
    client.send(get());
    const answer = await client.readAnswer();
    assert.match(answer.line, new RegExp(`^HTTP/1.1 ${name} `));
    assert.equal(field(answer.head, 'Transfer-Encoding'), null);
    assert.equal(field(answer.head, 'Content-Length'), name === '304' ? '99' : null);
    client.send(get());
    assert.equal((await client.readAnswer()).body, 'next');
  });

test('a client that half-closes after its request receives the response and then the close', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.end(get());
  const { wire } = await upstream.nextRequest();
  await whenRead();
  wire.send(ok('late'));
  const answer = await client.readAll();
  assert.match(answer, /\r\nConnection: close\r\n(.*\r\n)*\r\nlate$/);
});

test('a client that half-closes in the middle of a response receives all of it and then the close', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab');
  await client.readHead();
  client.end();
  await whenRead();
  wire.send('cd');
  assert.equal(await client.readAll(), 'abcd');
});

for (const begun of ['waits for its response', 'reads a silent event stream'])
  test(`a client that is gone after it half-closed is noticed, although nothing is sent to it, when it ${begun}`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.before(upstream);
    const client = await proxy.connect();
    client.send(get());
    const { wire } = await upstream.nextRequest();
    if (begun !== 'waits for its response') {
      wire.send('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n');
      await client.readHead();
    }
    client.end();
    await whenRead();
    proxy.clock.pass(1_000);
    await whenRead();
    assert.equal(wire.ended, false);
    client.reset();
    const { clock } = proxy;
    const deadline = clock.monotonic() + 10_000;
    await eventually('the end of the request', () => {
      if (clock.monotonic() < deadline) clock.pass(500);
      return wire.ended || wire.closed;
    });
  });

test('requests pipelined before the client half-closes are all answered', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(request.line));
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.end(get('/1') + get('/2') + get('/3'));
  const answers = await client.readAll();
  assert.deepEqual(answers.match(/GET \/\d/g), ['GET /1', 'GET /2', 'GET /3']);
  assert.equal(answers.split('HTTP/1.1 200').length, 4);
});

test('a truncated head is answered with 400, and a truncated body never reaches an upstream', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const head = await proxy.connect();
  head.end('GET / HTTP/1.1\r\nHost: a.te');
  assert.match(await head.readAll(), /^HTTP\/1\.1 400 /);
  const body = await proxy.connect();
  body.end('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\nabc');
  assert.equal(await body.readAll(), '');
  await eventually('the request to be counted', () => proxy.ledger.inFlight.total() === 0);
  assert.equal(upstream.connections.length, 0);
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 0, 0, 0, 0, 1]);
});

for (const [what, text, status] of [
  ['two Hosts', 'GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n', 400],
  ['both framings', 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
  ['CONNECT', 'CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n', 501],
  ['HTTP/2.0', 'GET / HTTP/2.0\r\nHost: a.test\r\n\r\n', 400],
  ['a TLS hello', '\x16\x03\x01\x02\x00\x01', 400],
  ['an endless head', `GET / HTTP/1.1\r\nHost: a.test\r\nX: ${'x'.repeat(20_000)}`, 431],
  ['a bad chunk', 'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400],
] as const)
  test(`${what} is answered with ${status}, and nothing after it is read`, async () => {
    using upstream = await UpstreamFixture.serving(() => null);
    using proxy = await ProxyFixture.before(upstream);
    const client = await proxy.connect();
    client.send(text + (what === 'an endless head' ? '' : get()));
    const all = await client.readAll();
    assert.match(all, new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*Connection: close\r\n`));
    assert.equal(all.match(/HTTP\/1\.1 \d/g)?.length, 1);
    await eventually('nothing under way', () => proxy.ledger.inFlight.total() === 0);
    const counted = [...proxy.counted().values()].reduce((sum, { requests }) => sum + requests, 0);
    assert.equal(counted, 1);
  });

test('a head that does not arrive in time is answered with 408, and an idle connection is closed silently', async () => {
  using proxy = await ProxyFixture.start([respond('a.test', 'x')]);
  const slow = await proxy.connect();
  slow.send('GET / HTTP/1.1\r\n');
  const idle = await proxy.connect();
  idle.send(get());
  await idle.readAnswer();
  await eventually('the slow head to be seen', () => {
    proxy.clock.pass(500);
    return slow.ended || proxy.clock.monotonic() > 400_000;
  });
  assert.match(await slow.readAll(), /^HTTP\/1\.1 408 /);
  proxy.clock.pass(61_000);
  assert.equal(await idle.readAll(), '');
});

test('a client that disconnects before the response is counted as 499 and releases the upstream connection', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  client.reset();
  await wire.until('the end', () => wire.ended || wire.closed);
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 0, 0, 0, 0, 1]);
  assert.equal(proxy.ledger.inFlight.total(), 0);
});

test('a client that disconnects in the middle of a response is counted under its status and releases the upstream connection', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc');
  await client.readHead();
  client.reset();
  await wire.until('the end', () => wire.ended || wire.closed);
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 1, 0, 0, 0, 0]);
  assert.equal(proxy.ledger.inFlight.total(), 0);
});

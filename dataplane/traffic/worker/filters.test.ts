import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Http2Client, Http2UpstreamFixture } from '../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { stillness } from '../testing/stillness.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { everywhere, Shouting } from '../testing/way-back.ts';
import { field } from '../testing/wire.ts';

const TRAILING = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\nETag: "1"\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n';

/** Answers by path over HTTP/1.1. */
const http1 = () =>
  UpstreamFixture.serving(({ line }) => {
    const [, path] = line.split(' ');
    if (path === '/trailers') return TRAILING;
    if (path === '/hints') return HINTS + ok('hello');
    if (path === '/status') return 'HTTP/1.1 299 Odd\r\nContent-Length: 5\r\n\r\nhello';
    if (path === '/nothing') return 'HTTP/1.1 204 No Content\r\n\r\n';
    if (path === '/fail-now') return ok('FAIL NOW');
    if (path === '/fail-later') return ok('FAIL LATER');
    if (line.startsWith('HEAD')) return 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "1"\r\n\r\n';
    return ok('hello', 'ETag: "1"\r\n');
  });

/** The same over HTTP/2. */
const http2 = () =>
  Http2UpstreamFixture.serving(({ stream, field: fieldOf }) => {
    const path = fieldOf(':path');
    if (path === '/hints') stream.additionalHeaders({ ':status': 103, link: '</a.css>' });
    if (path === '/nothing') return stream.respond({ ':status': 204 }, { endStream: true });
    const status = path === '/status' ? 299 : 200;
    const body = path === '/fail-now' ? 'FAIL NOW' : path === '/fail-later' ? 'FAIL LATER' : 'hello';
    if (path !== '/trailers') stream.respond({ ':status': status, etag: '"1"', 'content-length': body.length });
    else {
      stream.respond({ ':status': status, etag: '"1"' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '5' }));
    }
    return stream.end(body);
  });

type Answered = { status: number; fields: (name: string) => string | null; body: string; trailers: string; interim: boolean };

async function overHttp1(proxy: ProxyFixture, path: string, method = 'GET'): Promise<Answered> {
  const wire = await proxy.connect();
  wire.send(`${method} ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
  let answer = await wire.readAnswer(method);
  const interim = answer.line.startsWith('HTTP/1.1 103');
  if (interim) answer = await wire.readAnswer(method);
  const status = Number(answer.line.split(' ')[1]);
  return { status, fields: (name) => field(answer.head, name), body: answer.body, trailers: answer.trailers, interim };
}

async function overHttp2(proxy: ProxyFixture, path: string, method = 'GET'): Promise<Answered> {
  using client = new Http2Client(proxy);
  let interim = false;
  client.session.on('stream', () => assert.fail('nothing is pushed'));
  const stream = client.session.request({ ':authority': 'a.test', ':path': path, ':method': method });
  stream.on('headers', () => {
    interim = true;
  });
  let trailers = '';
  stream.on('trailers', (fields) => {
    trailers = `X-Sum: ${fields['x-sum']}\r\n`;
  });
  const [head] = (await once(stream, 'response')) as [Record<string, string | undefined>];
  let body = '';
  for await (const piece of stream.setEncoding('utf8')) body += piece;
  return { status: Number(head[':status']), fields: (name) => head[name] ?? null, body, trailers, interim };
}

const UPSTREAMS = [
  { name: 'HTTP/1.1', serving: http1, transport: {} },
  { name: 'HTTP/2', serving: http2, transport: { transport: { protocol: 'h2c' as const } } },
];
const CLIENTS = [
  { name: 'HTTP/1.1', ask: overHttp1 },
  { name: 'HTTP/2', ask: overHttp2 },
];

for (const { name, serving, transport } of UPSTREAMS)
  for (const { name: client, ask } of CLIENTS)
    test(`a filter changes the head and body of a response from an upstream of ${name} to a client of ${client}`, async () => {
      using upstream = await serving();
      const shouting = new Shouting();
      using proxy = await ProxyFixture.with([{ ...site('a.test', upstream), ...transport }], {}, { blockKinds: everywhere([shouting]) });
      const whole = await ask(proxy, '/');
      assert.deepEqual([whole.status, whole.body], [200, 'HELLO!']);
      assert.deepEqual([whole.fields('x-shouted'), whole.fields('etag'), whole.fields('content-length')], ['yes', null, null]);
      assert.equal(whole.fields('x-content-type-options'), 'nosniff');
      // Trailers stay after the last byte, interim responses pass unchanged, and a filter may leave a response alone.
      const trailing = await ask(proxy, '/trailers');
      assert.deepEqual([trailing.body, trailing.trailers.toLowerCase()], ['HELLO!', 'x-sum: 5\r\n']);
      const hinted = await ask(proxy, '/hints');
      assert.deepEqual([hinted.interim, hinted.body], [true, 'HELLO!']);
      const quiet = await ask(proxy, '/quiet');
      assert.deepEqual([quiet.body, quiet.fields('etag'), quiet.fields('content-length')], ['hello', '"1"', '5']);
      assert.equal((await ask(proxy, '/status')).status, 202);
      // A response without a body passes only its head.
      const made = shouting.begun;
      const headOnly = await ask(proxy, '/', 'HEAD');
      assert.deepEqual([headOnly.status, headOnly.fields('x-shouted'), headOnly.body], [200, 'yes', '']);
      assert.equal((await ask(proxy, '/nothing')).status, 204);
      assert.equal(shouting.begun, made);
      assert.equal(shouting.ended, made);
    });

test('filters are applied in order, the one nearest to the upstream first', async () => {
  using upstream = await UpstreamFixture.serving(ok('a'));
  using proxy = await ProxyFixture.with(
    [site('a.test', upstream)],
    {},
    { blockKinds: everywhere([new Shouting(' first'), new Shouting(' second')]) },
  );
  assert.equal((await proxy.request(get())).body, 'A FIRST second');
});

test("a site's fixed response passes through its filters, and the proxy's own responses don't", async () => {
  const routes = [{ domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body: 'hi' }, basic_auth: null }];
  using proxy = await ProxyFixture.with(routes, {}, { blockKinds: everywhere([new Shouting()]) });
  assert.equal((await proxy.request(get())).body, 'HI!');
  assert.equal(field((await proxy.request(get('/.sluice/x'))).head, 'x-shouted'), null);
});

test('a response that declines an upgrade passes through filters', async () => {
  using upstream = await UpstreamFixture.serving(ok('no'));
  using proxy = await ProxyFixture.with([site('a.test', upstream)], {}, { blockKinds: everywhere([new Shouting()]) });
  const { body, head } = await proxy.request(get('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'));
  assert.deepEqual([body, field(head, 'x-shouted')], ['NO!', 'yes']);
});

test('a response that the upstream cuts off is visibly truncated behind a filter too', async () => {
  for (const cut of ['Content-Length: 100\r\n\r\npart', 'Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n']) {
    using upstream = await UpstreamFixture.start();
    const shouting = new Shouting();
    using proxy = await ProxyFixture.with([site('a.test', upstream)], {}, { blockKinds: everywhere([shouting]) });
    const client = await proxy.connect();
    client.send(get());
    const { wire } = await upstream.nextRequest();
    wire.send(`HTTP/1.1 200 OK\r\n${cut}`);
    await client.readThrough('PART');
    wire.reset();
    const rest = await client.readAll();
    assert.ok(!rest.includes('0\r\n\r\n') && !rest.includes('!'), JSON.stringify(rest));
    assert.deepEqual([shouting.cancelled, shouting.ended], [1, 0]);

    using visitor = new Http2Client(proxy);
    const stream = visitor.session.request({ ':authority': 'a.test', ':path': '/' });
    const failed = once(stream, 'error');
    const again = (await upstream.nextRequest()).wire;
    again.send(`HTTP/1.1 200 OK\r\n${cut}`);
    await once(stream.setEncoding('utf8'), 'data');
    again.reset();
    assert.match(String((await failed)[0]), /INTERNAL_ERROR/);
  }
});

test('a client that disconnects cancels the filters, even if the upstream has sent everything', async () => {
  using upstream = await UpstreamFixture.serving(({ line }) => ok(line.includes('/quiet') ? 'small' : 'x'.repeat(20_000_000)));
  const shouting = new Shouting();
  using proxy = await ProxyFixture.with([site('a.test', upstream)], {}, { blockKinds: everywhere([shouting]) });
  const client = await proxy.connect();
  client.send(get());
  await client.readHead();
  client.socket.destroy();
  await eventually('the stage to be cancelled', () => shouting.cancelled === 1);
  assert.equal((await proxy.request(get('/quiet'))).body, 'small');
});

test('a client that does not read pauses the upstream through a filter, and receives every byte once it reads', async () => {
  const body = 'y'.repeat(30_000_000);
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.with([site('a.test', upstream)], {}, { blockKinds: everywhere([new Shouting()]) });
  const client = await proxy.connect();
  client.socket.pause();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await stillness('the upstream to be paused', () => (wire.socket.writableLength > 10_000_000 ? wire.socket.writableLength : 0));
  client.socket.resume();
  assert.equal((await client.readAnswer()).body, `${body.toUpperCase()}!`);
});

test('a filter that throws ends only its own exchange', async () => {
  using upstream = await http1();
  using proxy = await ProxyFixture.with([site('a.test', upstream)], {}, { blockKinds: everywhere([new Shouting()]) });
  for (const path of ['/fail-now', '/fail-later']) {
    const client = await proxy.connect();
    client.send(get(path));
    const received = await client.readAll();
    assert.ok(!received.includes('!'), received);
    assert.equal((await proxy.request(get())).body, 'HELLO!');
  }
});

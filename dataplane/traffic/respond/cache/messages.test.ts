import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Http2Client, Http2UpstreamFixture } from '../../testing/http2/upstream.ts';
import { CACHE, cachingProxy } from '../../testing/proxy/caching-proxy.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field, type Wire } from '../../testing/wire.ts';

const FRESH = 'Cache-Control: max-age=60\r\n';
const chunked = (fields: string): string =>
  `HTTP/1.1 200 OK\r\n${fields}Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n`;

const caching = (...upstreams: readonly { readonly address: string }[]): Promise<ProxyFixture> =>
  cachingProxy({ ...site('a.test', ...upstreams), cache: {} });

/** Sends requests one after the other and waits until each is in flight. */
async function sendWaiting(proxy: ProxyFixture, ...texts: readonly string[]): Promise<Wire[]> {
  const clients: Wire[] = [];
  for (const text of texts) {
    const before = proxy.ledger.inFlight.total();
    const client = await proxy.connect();
    client.send(text);
    await eventually('the request to be under way', () => proxy.ledger.inFlight.total() > before);
    clients.push(client);
  }
  return clients;
}

/** Waits until this many requests are in flight. */
const underWay = (proxy: ProxyFixture, count: number): Promise<void> =>
  eventually(`${count} requests to be under way`, () => proxy.ledger.inFlight.total() === count);

for (const [what, fields] of [
  ['a response that is stored', FRESH],
  ['one that is not', 'Cache-Control: no-store\r\n'],
] as const)
  test(`the trailers of ${what} go to the client that it was requested for, over HTTP/1.1 and HTTP/2`, async () => {
    using upstream = await UpstreamFixture.serving(chunked(fields));
    using proxy = await caching(upstream);
    assert.deepEqual((await proxy.request(get('/1'))).trailers, 'X-Sum: 7\r\n');
    using client = new Http2Client(proxy);
    const { body, trailers } = await client.request({ ':path': '/2' });
    assert.deepEqual([body, trailers['x-sum']], ['abc', '7']);
  });

test('all clients that read a response as it arrives get its trailers, and a stored response has neither trailers nor their names', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await caching(upstream);
  const clients = await sendWaiting(proxy, get(), get());
  const { wire } = await upstream.nextRequest();
  const [head = '', body = ''] = chunked(FRESH).split('\r\n\r\n');
  wire.send(`${head}\r\n\r\n`);
  for (const client of clients) assert.equal(field(await client.readHead(), 'Trailer'), 'X-Sum');
  wire.send(`${body}\r\n\r\n`);
  for (const client of clients) await client.until('the trailers', () => client.unread.endsWith('X-Sum: 7\r\n\r\n'));
  const stored = await proxy.request(get());
  assert.deepEqual([stored.body, stored.trailers, field(stored.head, 'Trailer')], ['abc', '', null]);
  assert.equal(field(stored.head, 'Content-Length'), '3');
});

test('gRPC calls to a cached site keep their trailers, and nothing of them is stored', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'cache-control': 'max-age=60' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.resume().on('end', () => stream.end('reply'));
  });
  using proxy = await cachingProxy({ ...site('a.test', upstream), transport: { protocol: 'h2c' }, cache: {} });
  using client = new Http2Client(proxy);
  const call = { ':method': 'POST', ':path': '/shop.Shop/Buy', 'content-type': 'application/grpc', te: 'trailers' };
  for (const _ of [1, 2]) {
    const { body, trailers } = await client.request(call, 'call');
    assert.deepEqual([body, trailers['grpc-status']], ['reply', '0']);
  }
  assert.equal(upstream.requests.length, 2);
  assert.ok(!proxy.messages.some((message) => message.kind === 'cache' && message.message.kind === 'store'));
});

test('an interim response goes only to the client whose request it answers', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await caching(upstream);
  const [first, second] = await sendWaiting(proxy, get(), get());
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n');
  assert.match((await first?.readHead()) ?? '', /^HTTP\/1\.1 103 /);
  wire.send(ok('x', FRESH));
  for (const client of [first, second]) assert.match((await client?.readHead()) ?? '', /^HTTP\/1\.1 200 /);
});

test('if the client for which a response was requested leaves, the others that wait get it once it is known to be for everyone', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await caching(upstream);
  const [first, second, third] = await sendWaiting(proxy, get(), get(), get());
  const { wire } = await upstream.nextRequest();
  first?.reset();
  await underWay(proxy, 2);
  wire.send(ok('shared', FRESH));
  for (const client of [second, third]) assert.equal((await client?.readAnswer())?.body, 'shared');
  assert.equal(upstream.connections.length, 1);
});

for (const fields of ['Set-Cookie: session=bob\r\n', 'Cache-Control: private, max-age=60\r\n', FRESH])
  test(`if the client for which a response was requested leaves, no other client gets it if it is personal: ${fields.trim()}`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await caching(upstream);
    const [first, second] = await sendWaiting(proxy, get('/', 'Cookie: user=bob\r\n'), get());
    const asked = await upstream.nextRequest();
    first?.reset();
    await underWay(proxy, 1);
    asked.wire.send(ok('for bob', fields));
    const { wire, request } = await upstream.nextRequest();
    assert.equal(field(request.head, 'Cookie'), null);
    wire.send(ok('for all', FRESH));
    const answer = await second?.readAnswer();
    assert.deepEqual([answer?.body, field(answer?.head ?? '', 'Set-Cookie')], ['for all', null]);
  });

test('a request for a range does not keep the whole response from being stored for others that wait for the same lookup', async () => {
  using upstream = await UpstreamFixture.serving(({ head }) => ok(field(head, 'Range') ?? 'whole', FRESH));
  let found = (): void => undefined;
  using proxy = await ProxyFixture.with([{ ...site('a.test', upstream), cache: {} }], CACHE, {
    onCache: (message, worker) => {
      if (message.kind === 'look-up')
        found = () => worker.handle({ kind: 'cache', message: { kind: 'found', key: message.key, entries: [], purged: 0 } });
    },
  });
  const [part, whole] = await sendWaiting(proxy, get('/', 'Range: bytes=0-1\r\n'), get());
  found();
  assert.equal((await whole?.readAnswer())?.body, 'whole');
  assert.equal((await part?.readAnswer())?.body, 'bytes=0-1');
  assert.match(field((await proxy.request(get())).head, 'Cache-Status') ?? '', /; hit/);
});

test('the cookie that keeps a client at its target goes only to that client, and is not stored', async () => {
  using upstream = await UpstreamFixture.serving(({ line }) => ok('x', line.includes('/private') ? 'Cache-Control: no-store\r\n' : FRESH));
  using proxy = await cachingProxy({ ...site('a.test', upstream), lb_policy: { policy: 'cookie' }, cache: {} });
  const [first, second] = [await proxy.request(get()), await proxy.request(get())];
  assert.match(field(first.head, 'Set-Cookie') ?? '', /^lb=/);
  assert.match(field(first.head, 'Cache-Status') ?? '', /; stored/);
  assert.equal(field(second.head, 'Set-Cookie'), null);
  assert.match(field(second.head, 'Cache-Status') ?? '', /; hit/);
  assert.match(field((await proxy.request(get('/private'))).head, 'Set-Cookie') ?? '', /^lb=/);
  assert.equal(upstream.requests.length, 2);
});

test('HEAD and a request for a range are answered from the whole response that they have validated or renewed', async () => {
  let version = 1;
  using upstream = await UpstreamFixture.serving(({ line, head }) => {
    const tag = `"${version}"`;
    if (field(head, 'If-None-Match') === tag) return `HTTP/1.1 304 Not Modified\r\n${FRESH}ETag: ${tag}\r\n\r\n`;
    const body = `version ${version}`;
    const answer = ok(body, `${FRESH}ETag: ${tag}\r\n`);
    return line.startsWith('HEAD') ? answer.slice(0, -body.length) : answer;
  });
  using proxy = await caching(upstream);
  const head = get().replace('GET', 'HEAD');
  const range = get('/', 'Range: bytes=8-\r\n');
  await proxy.request(get());
  proxy.clock.pass(61_000);
  assert.deepEqual([(await proxy.request(range)).body, upstream.requests.length], ['1', 2]);
  proxy.clock.pass(61_000);
  assert.equal(field((await proxy.request(head)).head, 'Content-Length'), '9');
  assert.deepEqual(
    upstream.requests.map(({ line }) => line.split(' ')[0]),
    ['GET', 'GET', 'GET'],
  );
  version = 2;
  proxy.clock.pass(61_000);
  assert.equal(field((await proxy.request(head)).head, 'ETag'), '"2"');
  assert.equal((await proxy.request(get())).body, 'version 2');
  assert.equal(upstream.requests.length, 4, 'the whole response was requested for HEAD, and stored');
});

test('a site’s settings for stale responses do not apply to one whose own lifetime is 0', async () => {
  for (const [fields, isStale] of [
    ['Cache-Control: max-age=0\r\nETag: "1"\r\n', false],
    ['Expires: 0\r\n', false],
    ['Cache-Control: max-age=0, stale-while-revalidate=60\r\n', true],
    ['Cache-Control: max-age=1\r\n', true],
  ] as const) {
    let version = 0;
    using upstream = await UpstreamFixture.serving(() => ok(String(++version), fields));
    using proxy = await cachingProxy({ ...site('a.test', upstream), cache: { stale_while_revalidate_secs: 60 } });
    await proxy.request(get());
    proxy.clock.pass(2_000);
    assert.equal((await proxy.request(get())).body, isStale ? '1' : '2', fields);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { RouteInput } from '../../../../shared/route.ts';
import { Http2Client } from '../../testing/http2/upstream.ts';
import { cachingProxy } from '../../testing/proxy/caching-proxy.ts';
import { eventually, get, type ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field, type Message } from '../../testing/wire.ts';

const FRESH = 'Cache-Control: max-age=60\r\n';

const caching = (upstream: { readonly address: string }, more: Partial<RouteInput> = {}): Promise<ProxyFixture> =>
  cachingProxy({ ...site('a.test', upstream), cache: {}, ...more });

/** The statuses of the cache for these requests, one after the other. */
async function statuses(proxy: ProxyFixture, ...requests: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const request of requests) {
    const answer = await proxy.request(request);
    found.push(/; (hit|fwd=[a-z-]+)/.exec(field(answer.head, 'Cache-Status') ?? '')?.[1] ?? 'none');
  }
  return found;
}

const asking = (path: string, ...lines: string[]): string => get(path, lines.map((line) => `${line}\r\n`).join(''));

test('a fresh response is sent from the cache with its age, whole, to GET and HEAD, over HTTP/1.1 and HTTP/2', async () => {
  const body = 'x'.repeat(100_000);
  using upstream = await UpstreamFixture.serving(ok(body, `${FRESH}ETag: "1"\r\n`));
  using proxy = await caching(upstream);
  const first = await proxy.request(get('/a'));
  assert.match(field(first.head, 'Cache-Status') ?? '', /^sluice; fwd=uri-miss; fwd-status=200; stored$/);
  proxy.clock.pass(5_000);
  const second = await proxy.request(get('/a'));
  assert.equal(second.body, body);
  assert.deepEqual([field(second.head, 'Age'), field(second.head, 'Cache-Status')], ['5', 'sluice; hit; ttl=55']);
  assert.equal(field(second.head, 'X-Content-Type-Options'), 'nosniff');
  const head = await proxy.request('HEAD /a HTTP/1.1\r\nHost: a.test\r\n\r\n');
  assert.equal(field(head.head, 'Content-Length'), '100000');
  using client = new Http2Client(proxy);
  assert.equal((await client.request({ ':path': '/a' })).body, body);
  assert.equal(upstream.requests.length, 1);
});

test('a response with a lifetime of a second is used, with or without a Date, which has whole seconds', async () => {
  let date = '';
  using upstream = await UpstreamFixture.serving(() => ok('x', `Cache-Control: max-age=1\r\n${date}`));
  using proxy = await caching(upstream);
  // From now on, the Date of this proxy is renewed in the middle of each second.
  proxy.clock.jump(500 - (proxy.clock.now() % 1_000));
  const found: string[] = [];
  for (const [path, sentBefore] of [
    ['/without', null],
    ['/now', 500],
    ['/stored', 3_000],
  ] as const) {
    proxy.clock.pass(999);
    date = sentBefore === null ? '' : `Date: ${new Date(proxy.clock.now() - sentBefore).toUTCString()}\r\n`;
    found.push(...(await statuses(proxy, get(path), get(path))));
  }
  const used = ['fwd=uri-miss', 'hit'];
  assert.deepEqual(found, [...used, ...used, 'fwd=uri-miss', 'fwd=stale'], 'what another cache has stored is as old as its Date says');
});

test('a response is validated once the time of day has been set back, and is stored with the new time', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', FRESH));
  using proxy = await caching(upstream);
  assert.deepEqual(await statuses(proxy, get(), get()), ['fwd=uri-miss', 'hit']);
  proxy.clock.jump(-10_000);
  assert.deepEqual(await statuses(proxy, get()), ['hit'], 'clocks are set a little again and again');
  proxy.clock.jump(-86_400_000);
  assert.deepEqual(await statuses(proxy, get(), get()), ['fwd=stale', 'hit']);
});

test('a URL whose response could not be stored is tried again once the time of day has been set back', async () => {
  let fields = 'Cache-Control: no-store\r\n';
  using upstream = await UpstreamFixture.serving(() => ok('x', fields));
  using proxy = await caching(upstream);
  await proxy.request(get());
  fields = FRESH;
  proxy.clock.jump(-86_400_000);
  assert.deepEqual(await statuses(proxy, get(), get()), ['fwd=uri-miss', 'hit']);
});

test('a part of a response is only sent to resume one of the same version: a date says which one if it is a second older than the response', async () => {
  const modified = 'Tue, 14 Nov 2023 22:13:19 GMT';
  for (const [date, status] of [
    [modified, 200],
    ['Tue, 14 Nov 2023 22:13:20 GMT', 206],
  ]) {
    using upstream = await UpstreamFixture.serving(ok('0123456789', `${FRESH}Date: ${date}\r\nLast-Modified: ${modified}\r\n`));
    using proxy = await caching(upstream);
    await proxy.request(get('/'));
    const { line } = await proxy.request(asking('/', 'Range: bytes=5-', `If-Range: ${modified}`));
    assert.ok(line.includes(` ${status} `), line);
  }
});

test('a part is not sent to resume one of another version of the same second after the stored one has been validated', async () => {
  const [modified, later] = ['Tue, 14 Nov 2023 22:13:20 GMT', 'Tue, 14 Nov 2023 22:13:30 GMT'];
  const lines = `Cache-Control: max-age=5\r\nLast-Modified: ${modified}\r\nDate: `;
  using upstream = await UpstreamFixture.serving(({ head }) =>
    head.includes('\r\nIf-Modified-Since: ')
      ? `HTTP/1.1 304 Not Modified\r\n${lines}${later}\r\n\r\n`
      : ok('0123456789', `${lines}${modified}\r\n`),
  );
  using proxy = await caching(upstream);
  await proxy.request(get('/'));
  proxy.clock.pass(10_000);
  await proxy.request(get('/'));
  assert.equal(upstream.requests.length, 2);
  const { line } = await proxy.request(asking('/', 'Range: bytes=5-', `If-Range: ${modified}`));
  assert.match(line, / 200 /);
});

for (const [what, request, response] of [
  ['no-store', asking('/'), 'Cache-Control: no-store, max-age=60\r\n'],
  ['private', asking('/'), 'Cache-Control: private, max-age=60\r\n'],
  ['Set-Cookie', asking('/'), `${FRESH}Set-Cookie: a=b\r\n`],
  ['Vary: *', asking('/'), `${FRESH}Vary: Accept, *\r\n`],
  ['credentials', asking('/', 'Authorization: Basic eDp5'), FRESH],
  ['cookies', asking('/', 'Cookie: s=1'), FRESH],
  ['a body of the request', 'GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\nx', FRESH],
  ['an overridden method', asking('/', 'X-HTTP-Method-Override: DELETE'), FRESH],
  ['no lifetime', asking('/'), ''],
  ['an invalid Expires', asking('/'), 'Expires: 0\r\n'],
] as const)
  test(`a response with ${what} is not stored`, async () => {
    using upstream = await UpstreamFixture.serving(ok('x', response));
    using proxy = await caching(upstream);
    for (const _ of [1, 2]) assert.equal((await proxy.request(request)).body, 'x');
    assert.equal(upstream.requests.length, 2);
    assert.ok(!proxy.messages.some((message) => message.kind === 'cache' && message.message.kind === 'store'));
  });

test('a response marked for all is stored and used even with cookies and credentials', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', 'Cache-Control: public, max-age=60\r\n'));
  using proxy = await caching(upstream);
  assert.deepEqual(await statuses(proxy, asking('/', 'Cookie: s=1'), asking('/', 'Authorization: Basic eDp5'), asking('/')), [
    'fwd=uri-miss',
    'hit',
    'hit',
  ]);
});

test('requests with cookies only get responses that are marked as public', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', FRESH));
  using proxy = await caching(upstream);
  assert.deepEqual(await statuses(proxy, asking('/'), asking('/', 'Cookie: s=1'), asking('/')), ['fwd=uri-miss', 'fwd=vary-miss', 'hit']);
});

test('a visitor with cookies does not keep the responses to all others from being stored', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', FRESH));
  using proxy = await caching(upstream);
  const personal = asking('/', 'Cookie: s=1');
  assert.deepEqual(await statuses(proxy, personal, get('/'), get('/'), personal), ['fwd=uri-miss', 'fwd=uri-miss', 'hit', 'none']);
});

test('Vary chooses among responses, regardless of the white space and the order of a list', async () => {
  using upstream = await UpstreamFixture.serving((request: Message) =>
    ok(field(request.head, 'Accept-Encoding') ?? 'none', `${FRESH}Vary: Accept-Encoding\r\n`),
  );
  using proxy = await caching(upstream);
  assert.equal((await proxy.request(asking('/', 'Accept-Encoding: gzip, br'))).body, 'gzip, br');
  assert.equal((await proxy.request(asking('/', 'Accept-Encoding: br,GZIP'))).body, 'gzip, br');
  assert.equal((await proxy.request(asking('/'))).body, 'none');
  assert.equal((await proxy.request(asking('/', 'Accept-Encoding: gzip,br'))).body, 'gzip, br');
  assert.equal(upstream.requests.length, 2);
});

test('a stale response is validated, and 304 makes it fresh with newer fields', async () => {
  using upstream = await UpstreamFixture.serving((request: Message) =>
    field(request.head, 'If-None-Match') === '"1"'
      ? `HTTP/1.1 304 Not Modified\r\n${FRESH}ETag: "1"\r\nX-New: 2\r\n\r\n`
      : ok('x', `${FRESH}ETag: "1"\r\nX-New: 1\r\n`),
  );
  using proxy = await caching(upstream);
  await proxy.request(get('/'));
  proxy.clock.pass(61_000);
  const validated = await proxy.request(get('/'));
  assert.deepEqual([validated.body, field(validated.head, 'X-New')], ['x', '2']);
  assert.equal(field(validated.head, 'Cache-Status'), 'sluice; fwd=stale; fwd-status=304');
  assert.deepEqual(await statuses(proxy, get('/')), ['hit']);
});

test('conditional requests and ranges are answered from the stored whole response', async () => {
  using upstream = await UpstreamFixture.serving(ok('0123456789', `${FRESH}ETag: "1"\r\nLast-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\n`));
  using proxy = await caching(upstream);
  assert.match((await proxy.request(asking('/', 'If-None-Match: W/"1"'))).line, / 304 /);
  for (const [line, status, body] of [
    ['If-None-Match: "0", "1"', 304, ''],
    ['If-None-Match: "2"', 200, '0123456789'],
    ['If-Modified-Since: Thu, 01 Jan 1970 00:00:01 GMT', 304, ''],
    ['Range: bytes=2-4', 206, '234'],
    ['Range: bytes=-3', 206, '789'],
    ['Range: bytes=8-100', 206, '89'],
    ['Range: bytes=8-9223372036854775806', 206, '89'],
    ['Range: bytes=10-', 416, ''],
    ['Range: bytes=0-1,4-5', 200, '0123456789'],
    ['Range: bytes=4-2', 200, '0123456789'],
  ] as const) {
    const answer = await proxy.request(asking('/', line));
    assert.deepEqual([Number(answer.line.slice(9, 12)), answer.body], [status, body], line);
  }
  assert.match((await proxy.request(asking('/', 'Range: bytes=0-1', 'If-Range: "2"'))).line, / 200 /);
  assert.equal(upstream.requests.length, 1);
});

test('simultaneous requests are one request to the upstream', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await caching(upstream);
  const clients = await Promise.all([1, 2, 3].map(() => proxy.connect()));
  for (const client of clients) client.send(get('/'));
  const { wire } = await upstream.nextRequest();
  wire.send(`HTTP/1.1 200 OK\r\n${FRESH}Content-Length: 6\r\n\r\nabc`);
  for (const client of clients) await client.readThrough('abc');
  wire.send('def');
  for (const client of clients) await client.readThrough('def');
  assert.equal(upstream.connections.length, 1);
});

test('a response that may not be stored keeps no request waiting, and no later request waits for another', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await caching(upstream);
  const clients = await Promise.all([1, 2].map(() => proxy.connect()));
  for (const client of clients) client.send(get('/'));
  const first = await upstream.nextRequest();
  first.wire.send('HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 3\r\n\r\na');
  const second = await upstream.nextRequest();
  second.wire.send(ok('two'));
  first.wire.send('bc');
  assert.deepEqual(
    (await Promise.all(clients.map((client) => client.readAnswer()))).map(({ body }) => body),
    ['abc', 'two'],
  );
});

test('a response that is cut off is not stored', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await caching(upstream);
  const client = await proxy.connect();
  client.send(get('/'));
  const { wire } = await upstream.nextRequest();
  wire.end(`HTTP/1.1 200 OK\r\n${FRESH}Content-Length: 6\r\n\r\nabc`);
  await client.until('the end', () => client.ended || client.closed);
  const again = await proxy.connect();
  again.send(get('/'));
  (await upstream.nextRequest()).wire.send(ok('whole', FRESH));
  assert.equal((await again.readAnswer()).body, 'whole');
});

test('a response larger than its part of the cache is passed on whole and not stored', async () => {
  const body = 'y'.repeat(3_000_000);
  using upstream = await UpstreamFixture.serving(
    `HTTP/1.1 200 OK\r\n${FRESH}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  );
  using proxy = await caching(upstream);
  for (const _ of [1, 2]) assert.equal((await proxy.request(get('/'))).body.length, body.length);
  assert.equal(upstream.requests.length, 2);
});

test('a stale response is used while it is refreshed, and when the upstream fails', async () => {
  let answer = ok('old', `Cache-Control: max-age=10, stale-while-revalidate=10, stale-if-error=100\r\nETag: "1"\r\n`);
  using upstream = await UpstreamFixture.serving(() => answer);
  using proxy = await caching(upstream);
  await proxy.request(get('/'));
  answer = ok('new', `Cache-Control: max-age=10, stale-if-error=100\r\n`);
  proxy.clock.pass(15_000);
  assert.equal((await proxy.request(get('/'))).body, 'old');
  await eventually('the refresh', () => upstream.requests.length === 2);
  assert.equal((await proxy.request(get('/'))).body, 'new');
  answer = 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n';
  proxy.clock.pass(15_000);
  const stale = await proxy.request(get('/'));
  assert.equal(stale.body, 'new');
  assert.match(field(stale.head, 'Cache-Status') ?? '', /fwd-status=503/);
  proxy.clock.pass(100_000);
  assert.match((await proxy.request(get('/'))).line, / 503 /);
});

test('a request with an unsafe method invalidates its URL, and the URL that Location names', async () => {
  using upstream = await UpstreamFixture.serving((request: Message) =>
    request.line.startsWith('POST') ? ok('', 'Location: /b\r\n') : ok('x', FRESH),
  );
  using proxy = await caching(upstream);
  await statuses(proxy, get('/a'), get('/b'), get('/c'));
  await proxy.request('POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n');
  assert.deepEqual(await statuses(proxy, get('/a'), get('/b'), get('/c')), ['fwd=uri-miss', 'fwd=uri-miss', 'hit']);
});

test('the key has host, port and query; a request with another one is another request', async () => {
  using upstream = await UpstreamFixture.serving((request: Message) => ok(`${request.line} ${field(request.head, 'Host')}`, FRESH));
  using proxy = await caching(upstream);
  for (const request of [get('/a'), get('/a?'), get('/a?b'), get('/%61'), get('/a').replace('a.test', 'a.test:81'), get('/A')])
    assert.match((await proxy.request(request)).head, /fwd=uri-miss/, request);
});

test('ttl gives a lifetime by status to responses that state none, and cache off in a block turns it off', async () => {
  using upstream = await UpstreamFixture.serving((request: Message) =>
    request.line.includes('404') ? 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n' : ok('x'),
  );
  using proxy = await caching(upstream, {
    cache: { ttls: [{ secs: 10 }, { secs: 1, statuses: [404] }] },
    handles: [{ path: '/off/*', cache: null }],
  });
  assert.deepEqual(await statuses(proxy, get('/'), get('/'), get('/404'), get('/404'), get('/off/a'), get('/off/a')), [
    'fwd=uri-miss',
    'hit',
    'fwd=uri-miss',
    'hit',
    'none',
    'none',
  ]);
});

test('a client that leaves does not disturb others, and the last one cancels the request', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await caching(upstream);
  const [one, two] = await Promise.all([proxy.connect(), proxy.connect()]);
  one.send(get('/'));
  two.send(get('/'));
  const { wire } = await upstream.nextRequest();
  wire.send(`HTTP/1.1 200 OK\r\n${FRESH}Content-Length: 6\r\n\r\nabc`);
  await one.readThrough('abc');
  one.reset();
  wire.send('def');
  assert.match(await two.readThrough('def'), /abcdef$/);
  const three = await proxy.connect();
  three.send(get('/other'));
  await wire.readRequest();
  wire.send(`HTTP/1.1 200 OK\r\n${FRESH}Content-Length: 6\r\n\r\nabc`);
  await three.readThrough('abc');
  three.reset();
  await wire.until('the end', () => wire.ended || wire.closed);
});

test('a hit is compressed for clients that accept it', async () => {
  const body = 'compressible '.repeat(30_000);
  using upstream = await UpstreamFixture.serving(ok(body, `${FRESH}Content-Type: text/plain\r\n`));
  using proxy = await caching(upstream, { encode: { formats: [{ name: 'gzip' }] } } as never);
  await proxy.request(get('/'));
  const coded = await proxy.request(asking('/', 'Accept-Encoding: gzip'));
  assert.deepEqual([field(coded.head, 'Content-Encoding'), field(coded.head, 'Cache-Status')?.slice(0, 11)], ['gzip', 'sluice; hit']);
  assert.equal(gunzipSync(Buffer.from(coded.body, 'latin1')).toString(), body);
  assert.equal((await proxy.request(get('/'))).body, body);
});

test('a request that follows at once on the same connection does not wait for one that has failed or was validated', async () => {
  using proxy = await caching({ address: await refusingAddress() });
  const client = await proxy.connect();
  client.send(get('/') + get('/'));
  for (const _ of [1, 2]) assert.match((await client.readAnswer()).line, / 502 /);
  using upstream = await UpstreamFixture.serving((request: Message) =>
    field(request.head, 'If-None-Match') === null
      ? ok('x', 'Cache-Control: max-age=0, must-revalidate\r\nETag: "1"\r\n')
      : 'HTTP/1.1 304 Not Modified\r\nCache-Control: no-store\r\n\r\n',
  );
  using validating = await caching(upstream);
  const other = await validating.connect();
  other.send(get('/') + get('/') + get('/'));
  for (const _ of [1, 2, 3]) assert.equal((await other.readAnswer()).body, 'x');
});

test('a response that varies by more than 50 fields is not stored, since each request for it would take long to compare', async () => {
  for (const [fields, upstreamRequests] of [
    [50, 1],
    [51, 2],
  ] as const) {
    const vary = Array.from({ length: fields }, (_, at) => `X-${at}`).join(', ');
    using upstream = await UpstreamFixture.serving(ok('x', `${FRESH}Vary: ${vary}\r\n`));
    using proxy = await caching(upstream);
    for (const _ of [1, 2]) await proxy.request(get('/'));
    assert.equal(upstream.requests.length, upstreamRequests, `${fields} fields`);
  }
});

test('the upstream answers If-None-Match: * while nothing is stored, so that no body is sent for it', async () => {
  using upstream = await UpstreamFixture.serving(({ head }) =>
    field(head, 'If-None-Match') === '*' ? 'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n' : ok('text', `${FRESH}ETag: "1"\r\n`),
  );
  using proxy = await caching(upstream);
  const any = asking('/', 'If-None-Match: *');
  for (const [request, status, count] of [
    [any, '304', 1],
    [get('/'), '200', 2],
    [any, '304', 2],
    [asking('/', 'If-None-Match: *', 'Cache-Control: no-cache'), '304', 3],
  ] as const) {
    assert.equal((await proxy.request(request)).line.slice(9, 12), status);
    assert.equal(upstream.requests.length, count);
  }
  assert.doesNotMatch(upstream.requests[2]?.head ?? '', /\*/);
});

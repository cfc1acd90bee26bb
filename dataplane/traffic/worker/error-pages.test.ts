import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import type { RouteInput } from '../../../shared/route.ts';
import { Http2Client, Http2UpstreamFixture } from '../testing/http2/upstream.ts';
import { cachingProxy } from '../testing/proxy/caching-proxy.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

type Pages = NonNullable<RouteInput['handle_errors']>;
const GONE = { address: '127.0.0.1:1' };
const before = (upstream: { readonly address: string }, pages: Pages, more: object = {}): RouteInput => ({
  ...site('a.test', upstream),
  handle_errors: pages,
  ...more,
});
const upstreamError = (status: string, fields = '', body = 'an error page of the upstream'): string =>
  `HTTP/1.1 ${status}\r\nContent-Type: text/html\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;

test('errors of the proxy have the site’s page, its headers, and the status and Retry-After that they had', async () => {
  using upstream = await UpstreamFixture.serving(upstreamError('200 OK', '', 'fine'));
  using proxy = await ProxyFixture.start([
    before(
      upstream,
      [
        {
          statuses: [404],
          page: '<p>{err.status_code} {err.status_text} {path}</p>',
          headers: [{ name: 'X-Frame-Options', value: 'DENY' }],
        },
        { statuses: ['5xx'], respond: '{err.status_code} for {path}', headers: [{ name: 'Cache-Control', value: 'no-store' }] },
        { respond: 'any other' },
      ],
      {
        upstreams: [],
        handles: [
          { path: '/down', upstreams: [GONE] },
          { path: '/fine', upstreams: [{ address: upstream.address }] },
          { path: '/limited', request_body: { max_size: 0 }, upstreams: [{ address: upstream.address }] },
          { path: '/own', upstreams: [GONE], handle_errors: [{ statuses: [502], respond: 'the block’s' }] },
          { path: '/said', respond: { status: 404, body: 'said' } },
        ],
      },
    ),
  ]);
  const none = await proxy.request(get('/none'));
  assert.deepEqual([none.line.slice(9, 12), none.body], ['404', '<p>404 Not Found {path}</p>']);
  assert.deepEqual(
    ['content-type', 'x-frame-options'].map((name) => field(none.head, name)),
    ['text/html; charset=utf-8', 'DENY'],
  );
  assert.equal(none.head.match(/x-frame-options/gi)?.length, 1);
  const head = await proxy.request(get('/none').replace('GET', 'HEAD'));
  assert.deepEqual([head.body, field(head.head, 'content-length')], ['', String(none.body.length)]);
  const down = await proxy.request(get('/down'));
  assert.deepEqual([down.line.slice(9, 12), down.body, field(down.head, 'cache-control')], ['502', '502 for /down', 'no-store']);
  assert.equal(field(down.head, 'content-type'), 'text/plain; charset=utf-8', 'a text made from the request is never HTML');
  assert.equal((await proxy.request(get('/own'))).body, Buffer.from('the block’s').toString('latin1'));
  assert.equal((await proxy.request(get('/said'))).body, 'said', 'a fixed response is not an error');
  assert.equal((await proxy.request(get('/fine'))).body, 'fine');
  const large = await proxy.request('POST /limited HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\nx');
  assert.deepEqual([large.line.slice(9, 12), large.body], ['413', 'any other']);
  const grpc = await proxy.request(get('/none', 'Content-Type: application/grpc\r\n'));
  assert.doesNotMatch(grpc.body, /<p>404/);
  const upgrade = await proxy.request(get('/down', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'));
  assert.deepEqual([upgrade.line.slice(9, 12), upgrade.body], ['502', '502 for /down']);
  using client = new Http2Client(proxy);
  const answered = await client.request({ ':path': '/none' });
  assert.deepEqual([answered.status, answered.body], [404, none.body]);
});

test('placeholders in the headers of a page are replaced, and a header whose value a client makes unsafe is left out', async () => {
  using upstream = await UpstreamFixture.serving(upstreamError('500 Oops', 'X-Id: 7\r\n'));
  const headers = [
    { name: 'X-Error', value: '{err.status_code} {err.status_text} \\{0} {resp.header.X-Id}' },
    { name: 'Access-Control-Allow-Origin', value: '{header.Origin}' },
    { name: 'X-Query', value: 'is {query.q}' },
  ];
  using proxy = await ProxyFixture.start([
    before(upstream, [
      { statuses: ['5xx'], respond: 'x', headers, intercept: true },
      { page: '<p>', headers },
    ]),
    { ...before(upstream, [{ respond: 'x', headers }], { upstreams: [GONE] }), domain: 'gone.test' },
  ]);
  const seen = ({ head }: { readonly head: string }) => headers.map(({ name }) => field(head, name));
  const origin = 'Origin: https://app.test\r\n';
  assert.deepEqual(seen(await proxy.request(get('/?q=a', origin))), ['500 Internal Server Error {0} 7', 'https://app.test', 'is a']);
  const gone = get('/?q=%0d%0aX-Evil:1', origin).replace('a.test', 'gone.test');
  assert.deepEqual(seen(await proxy.request(gone)), ['502 Bad Gateway {0}', 'https://app.test', null]);
});

test('a header of a saved page with braces that are no placeholder is sent as it is', async () => {
  using upstream = await UpstreamFixture.serving(upstreamError('500 Oops'));
  const headers = [{ name: 'X-Error', value: '{http.error.message}' }];
  using proxy = await ProxyFixture.start([before(upstream, [{ respond: 'x', headers, intercept: true }])]);
  const { head, body } = await proxy.request(get());
  assert.deepEqual([body, field(head, 'X-Error')], ['x', '{http.error.message}']);
});

test('an upstream’s error keeps its page without intercept', async () => {
  using upstream = await UpstreamFixture.serving(upstreamError('500 Oops'));
  using proxy = await ProxyFixture.start([before(upstream, [{ respond: 'ours' }])]);
  assert.equal((await proxy.request(get())).body, 'an error page of the upstream');
});

test('intercept replaces the upstream’s error page and the fields that describe it, and keeps everything else', async () => {
  const fields =
    'ETag: "1"\r\nContent-Encoding: br\r\nLast-Modified: now\r\nSet-Cookie: a=b\r\nRetry-After: 7\r\nWWW-Authenticate: Basic\r\n';
  using upstream = await UpstreamFixture.serving(({ line }) => {
    const whole = upstreamError(line.includes('/fine') ? '200 OK' : '503 Busy', fields);
    return line.startsWith('HEAD') ? whole.slice(0, whole.indexOf('\r\n\r\n') + 4) : whole;
  });
  using proxy = await ProxyFixture.start([
    before(upstream, [{ statuses: [503], respond: 'ours: {err.status_code}', intercept: true }], {
      handles: [{ path: '/said', respond: { status: 503, body: 'said' } }],
    }),
  ]);
  const names = [
    'etag',
    'content-encoding',
    'last-modified',
    'set-cookie',
    'retry-after',
    'www-authenticate',
    'content-type',
    'content-length',
  ];
  const kept = [null, null, null, 'a=b', '7', 'Basic', 'text/plain; charset=utf-8', '9'];
  const got = await proxy.request(get());
  assert.deepEqual([got.line.slice(9, 12), got.body, ...names.map((name) => field(got.head, name))], ['503', 'ours: 503', ...kept]);
  const head = await proxy.request(get().replace('GET', 'HEAD'));
  assert.deepEqual([head.body, ...names.map((name) => field(head.head, name))], ['', ...kept]);
  assert.equal((await proxy.request(get('/fine'))).body, 'an error page of the upstream');
  assert.equal((await proxy.request(get('/said'))).body, 'said');
  using client = new Http2Client(proxy);
  assert.equal((await client.request({ ':path': '/' })).body, 'ours: 503');
});

test('a dry run says that errors of the upstream are replaced', async () => {
  using upstream = await UpstreamFixture.serving(ok('fine'));
  using proxy = await ProxyFixture.start([before(upstream, [{ respond: 'ours', intercept: true }])]);
  const { policies } = await proxy.dryRun('http://a.test/');
  assert.deepEqual(policies, [{ name: 'handle_errors', verdict: "every error: a text, also the upstream's" }]);
});

test('intercept also replaces an error page that the cache has stored', async () => {
  using upstream = await UpstreamFixture.serving(upstreamError('404 Gone', 'Cache-Control: max-age=60\r\n'));
  using proxy = await cachingProxy(before(upstream, [{ respond: 'ours', intercept: true }], { cache: {} }));
  for (const cached of [/; stored/, /; hit/]) {
    const { line, head, body } = await proxy.request(get());
    assert.deepEqual([line.slice(9, 12), body], ['404', 'ours']);
    assert.match(field(head, 'Cache-Status') ?? '', cached);
  }
});

test('intercept works for upstreams of HTTP/2, and the page is encoded', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 500, 'content-type': 'text/html' });
    stream.end('oops');
  });
  const page = '<p>sorry</p>'.repeat(100);
  using proxy = await ProxyFixture.start([
    before(upstream, [{ page, intercept: true }], { transport: { protocol: 'h2c' }, encode: { formats: [{ name: 'gzip' }] } }),
  ]);
  const { line, body } = await proxy.request(get('/', 'Accept-Encoding: gzip\r\n'));
  assert.deepEqual([line.slice(9, 12), zlib.gunzipSync(Buffer.from(body, 'latin1')).toString()], ['500', page]);
});

for (const [what, rest] of [
  ['endless', `10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(20)],
  ['paused', '1\r\nx\r\n'],
] as const) {
  test(`an ${what} error page of an upstream is given up, and the connection of the client stays open`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.start([before(upstream, [{ respond: 'ours', intercept: true }])]);
    const client = await proxy.connect();
    for (let turn = 1; turn <= 2; turn++) {
      client.send(get());
      const { wire } = await upstream.nextRequest();
      wire.send(`HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n${rest}`);
      await eventually('the page', () => {
        proxy.clock.pass(100);
        return client.unread.split('\r\n\r\nours').length === turn + 1;
      });
      await wire.until('the connection to be closed', () => wire.closed || wire.ended || wire.failed);
    }
  });

  test(`instead of an ${what} error page of an upstream, the page of the site is complete over HTTP/2`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.start([before(upstream, [{ respond: 'ours', intercept: true }])]);
    using client = new Http2Client(proxy);
    let body = '';
    const done = client.request({ ':path': '/' }).then((answer) => {
      body = answer.body;
    });
    const { wire } = await upstream.nextRequest();
    wire.send(`HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n${rest}`);
    await eventually('the page', () => {
      proxy.clock.pass(100);
      return body === 'ours';
    });
    await done;
  });
}

test('an error page of an upstream that is cut off is replaced by a whole one, and one that ends keeps its connection', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([before(upstream, [{ respond: 'ours', intercept: true }])]);
  const cut = proxy.request(get());
  const first = await upstream.nextRequest();
  first.wire.send('HTTP/1.1 500 Oops\r\nContent-Length: 10\r\n\r\nabc');
  first.wire.end();
  assert.equal((await cut).body, 'ours');
  const whole = proxy.request(get());
  const second = await upstream.nextRequest();
  second.wire.send('HTTP/1.1 500 Oops\r\nContent-Length: 3\r\n\r\nabc');
  assert.equal((await whole).body, 'ours');
  assert.equal(second.wire.closed, false);
});

test('maintenance answers with 503, Retry-After and a page, except for those whom its condition exempts', async () => {
  using upstream = await UpstreamFixture.serving(upstreamError('200 OK', '', 'fine'));
  const match = { name: '@visitors', not: [{ remote_ip: ['192.0.2.0/24'] }] };
  const route = { ...before(upstream, [{ statuses: [503], respond: 'back soon' }]), rate_limit_rps: 1 };
  const status = async (proxy: ProxyFixture, path = '/', fields = '') => {
    const { line, head, body } = await proxy.request(get(path, fields));
    return [line.slice(9, 12), field(head, 'retry-after'), body];
  };
  using proxy = await ProxyFixture.start(
    [{ ...route, maintenance: { match, retry_after_secs: 60 }, handles: [{ path: '/hook', maintenance: { on: false } }] }],
    ['127.0.0.1/32'],
  );
  for (let time = 0; time < 3; time++) assert.deepEqual(await status(proxy), ['503', '60', 'back soon'], 'no limit is counted');
  assert.deepEqual(await status(proxy, '/', 'X-Forwarded-For: 192.0.2.7\r\n'), ['200', null, 'fine']);
  assert.deepEqual(await status(proxy, '/hook'), ['200', null, 'fine']);
  assert.match(JSON.stringify(proxy.dryRun('http://a.test/').policies), /"maintenance".*503, to be tried again after 60 seconds/);
  assert.equal(upstream.requests.length, 2);
  await proxy.publish([{ ...before(upstream, []), maintenance: { page: '<h1>Closed</h1>' } }]);
  assert.deepEqual(await status(proxy), ['503', '300', '<h1>Closed</h1>']);
  for (const off of [false, 'off', null]) {
    await proxy.publish([{ ...before(upstream, []), maintenance: off } as RouteInput]);
    assert.deepEqual(await status(proxy), ['200', null, 'fine']);
  }
});

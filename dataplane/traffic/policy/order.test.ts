import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

test('a rate limit comes before a redirect, a redirect before a fixed response, and that before the upstream', async () => {
  using upstream = await UpstreamFixture.serving(ok('upstream'));
  const route = {
    ...site('a.test', upstream),
    rate_limit_rps: 3,
    redirects: [{ from: '/moved', to: '/', status: 301 as const }],
    respond: { status: 200, body: 'fixed' },
  };
  using proxy = await ProxyFixture.start([route]);
  assert.match((await proxy.request(get('/moved'))).line, / 301 /);
  assert.equal((await proxy.request(get('/'))).body, 'fixed');
  assert.match((await proxy.request(get('/moved'))).line, / 301 /);
  const over = await proxy.request(get('/moved'));
  assert.match(over.line, / 429 /);
  assert.equal(field(over.head, 'Retry-After'), '1');
  assert.equal(upstream.requests.length, 0);
  proxy.clock.pass(2_000);
  assert.match((await proxy.request(get('/moved'))).line, / 301 /);
});

test("a block's limit counts in addition to its site's", async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([
    { ...site('a.test', upstream), rate_limit_rps: 4, handles: [{ path: '/b', rate_limit_rps: 1 }] },
  ]);
  const status = async (path: string) => (await proxy.request(get(path))).line.slice(9, 12);
  assert.deepEqual([await status('/b'), await status('/b'), await status('/'), await status('/')], ['200', '429', '200', '200']);
  assert.equal(await status('/'), '429');
});

test('a fixed response without a body has no Content-Type, and a 204 has no Content-Length either', async () => {
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test'),
      respond: { status: 418, body: 'tea' },
      handles: [
        { path: '/empty', respond: { status: 403 } },
        { path: '/none', respond: { status: 204 } },
      ],
    },
  ]);
  const tea = await proxy.request(get());
  assert.equal(tea.line, "HTTP/1.1 418 I'm a Teapot");
  assert.equal(tea.body, 'tea');
  assert.equal(field(tea.head, 'Content-Type'), 'text/plain; charset=utf-8');
  const empty = await proxy.request(get('/empty'));
  assert.deepEqual([field(empty.head, 'Content-Type'), field(empty.head, 'Content-Length')], [null, '0']);
  assert.equal(field((await proxy.request(get('/none'))).head, 'Content-Length'), null);
});

test('the request for the upstream is changed only after access rules, which judge the request of the client', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  const hash = '$2b$04$abcdefghijklmnopqrstuuGZ9YlYc0Y1vYV1cKzY8Wc2jYQ7mU7ga';
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test', upstream),
      rewrites: [{ to: '/{query.p}' }],
      methods: [{ method: 'GET' }],
      request_headers: [{ name: 'Authorization', value: 'Basic Ym9iOmJvYg==' }],
      redirects: [{ from: '/moved', to: '{path}', status: 301 }],
      responds: [{ status: 403, match: { method: ['POST'], path: ['/closed'] } }],
      handles: [
        { path: '/private/*', basic_auth: { users: [{ name: 'bob', hash }] } },
        { path: '/denied/*', ip_filter: { deny: ['0.0.0.0/0', '::/0'] } },
      ],
    },
  ]);
  for (const [text, status] of [
    [get('/private/x?p=public'), '401'],
    [get('/denied/x?p=public'), '403'],
    [get('/moved?p=x'), '301'],
    [get('/moved?p=..%2f..'), '301'],
    ['POST /closed?p=x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n', '403'],
    [get('/x?p=..%2f..'), '400'],
  ] as const)
    assert.equal((await proxy.request(text)).line.slice(9, 12), status, text);
  assert.equal(upstream.requests.length, 0);
  assert.match((await proxy.request(get('/open?p=private/x'))).line, / 200 /);
  assert.equal(upstream.requests[0]?.line, 'GET /private/x?p=private/x HTTP/1.1');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../shared/route.ts';
import { Http2Client, Http2UpstreamFixture } from '../testing/http2/upstream.ts';
import { cachingProxy } from '../testing/proxy/caching-proxy.ts';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../testing/test-upstream.ts';
import { field, type Message } from '../testing/wire.ts';

/** The route that `header_up` and `header_down` produce. */
const CHANGES = {
  request_headers: [
    { name: 'X-Both', value: 'up', upstream_only: true },
    { name: 'X-Up', value: '{method}', upstream_only: true },
    { name: 'X-Both', value: 'site' },
    { name: 'Host', value: '{upstream_hostport}', upstream_only: true },
  ],
  headers: [
    { name: 'X-Both', value: 'site' },
    { name: 'X-Down', value: 'down', upstream_only: true },
    { name: 'X-Both', value: 'down', upstream_only: true },
    { name: 'X-Old', value: null, upstream_only: true },
  ],
} satisfies Partial<RouteInput>;

const echo = (): Promise<UpstreamFixture> => UpstreamFixture.serving(({ head }: Message) => ok(head, 'X-Old: 1\r\n'));

test('header_up is applied after request_header, and header_down before header', async () => {
  using upstream = await echo();
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), ...CHANGES }]);
  const { head, body } = await proxy.request(get());
  assert.deepEqual(
    ['x-both', 'x-up', 'host'].map((name) => field(body, name)),
    ['up', 'GET', upstream.address],
  );
  assert.deepEqual(
    ['x-both', 'x-down', 'x-old'].map((name) => field(head, name)),
    ['site', 'down', null],
  );
});

test('they apply neither to a block with its own upstreams nor to responses of the proxy itself', async () => {
  using upstream = await echo();
  using other = await echo();
  const gone = { address: await refusingAddress() };
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test', upstream),
      ...CHANGES,
      handles: [
        { path: '/other', upstreams: [other] },
        { path: '/shared', headers: [{ name: 'X-Shared', value: '1' }] },
        { path: '/gone', upstreams: [gone], headers: [{ name: 'X-Down', value: 'down', upstream_only: true }] },
        { path: '/fixed', respond: { status: 200, body: 'fixed' } },
      ],
    },
  ]);
  const elsewhere = await proxy.request(get('/other'));
  assert.deepEqual(
    ['x-both', 'x-up', 'host'].map((name) => field(elsewhere.body, name)),
    ['site', null, 'a.test'],
  );
  assert.deepEqual([field(elsewhere.head, 'x-down'), field(elsewhere.head, 'x-old')], [null, '1']);
  const shared = await proxy.request(get('/shared'));
  assert.deepEqual([field(shared.body, 'x-up'), field(shared.head, 'x-down'), field(shared.head, 'x-shared')], ['GET', 'down', '1']);
  for (const [path, line] of [
    ['/gone', / 502 /],
    ['/fixed', / 200 /],
  ] as const) {
    const own = await proxy.request(get(path));
    assert.match(own.line, line);
    assert.deepEqual([field(own.head, 'x-down'), field(own.head, 'x-both')], [null, 'site']);
  }
});

test('they apply over HTTP/2, to both sides', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ field, stream }) => {
    stream.respond({ ':status': 200, 'x-old': '1', 'x-got': field('x-up') ?? '' });
    stream.end();
  });
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), ...CHANGES, transport: { protocol: 'h2c' } }]);
  using client = new Http2Client(proxy);
  const { head } = await client.request({ ':path': '/' });
  assert.deepEqual([head['x-got'], head['x-down'], head['x-old']], ['GET', 'down', undefined]);
});

test('a declined and an accepted upgrade get them, too', async () => {
  using upstream = await UpstreamFixture.serving(({ line }: Message) =>
    line.includes('/no')
      ? ok('', 'X-Old: 1\r\n')
      : 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Old: 1\r\n\r\n',
  );
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), ...CHANGES }]);
  for (const [path, line] of [
    ['/no', / 200 /],
    ['/yes', / 101 /],
  ] as const) {
    const client = await proxy.connect();
    client.send(get(path, 'Connection: Upgrade\r\nUpgrade: websocket\r\n'));
    const answer = await client.readAnswer();
    assert.match(answer.line, line);
    assert.deepEqual([field(answer.head, 'x-down'), field(answer.head, 'x-old')], ['down', null]);
    assert.equal(field(upstream.requests.at(-1)?.head ?? '', 'x-up'), 'GET');
  }
});

test('which requests get the header_up of a site does not depend on how its path is read', async () => {
  using upstream = await echo();
  using other = await echo();
  const secret = [{ name: 'Authorization', value: 'Bearer x', upstream_only: true as const }];
  using proxy = await ProxyFixture.start([
    { ...site('a.test', upstream), request_headers: secret, handles: [{ path: '/open/*', upstreams: [other] }] },
  ]);
  assert.match((await proxy.request(get('/open/%2e%2e/x'))).line, / 400 /);
  assert.equal(field((await proxy.request(get('/x'))).body, 'authorization'), 'Bearer x');
  assert.equal(field((await proxy.request(get('/open/x'))).body, 'authorization'), null);
});

test('in groups that divide the requests they concern the upstreams of their own group', async () => {
  using old = await echo();
  using young = await echo();
  const group = (from: number, upstream: UpstreamFixture, name: string) => ({
    path: null,
    match: { share: { from, to: from + 1, of: 2, by: 'header' as const, name: 'X-Visitor' } },
    upstreams: [upstream],
    request_headers: [{ name: 'X-Group', value: name, upstream_only: true as const }],
    headers: [{ name: 'X-From', value: name, upstream_only: true as const }],
  });
  using proxy = await ProxyFixture.start([{ ...site('a.test'), handles: [group(0, old, 'old'), group(1, young, 'young')] }]);
  for (let visitor = 0; old.requests.length === 0 || young.requests.length === 0; visitor++) {
    const before = old.requests.length;
    const { head, body } = await proxy.request(get('/', `X-Visitor: ${visitor}\r\n`));
    const name = old.requests.length > before ? 'old' : 'young';
    assert.deepEqual([field(body, 'x-group'), field(head, 'x-from')], [name, name]);
  }
});

test('header_down changes stored responses on their way to each client once, and does not decide whether they are stored', async () => {
  const upstream_only = true as const;
  const headers = [
    { name: 'X-Added', value: 'b', op: 'add' as const, upstream_only },
    { name: 'X-Part', value: 'aa', op: 'replace' as const, find: 'a', upstream_only },
    { name: 'Cache-Control', value: 'no-store', upstream_only },
  ];
  using upstream = await UpstreamFixture.serving(ok('page', 'Cache-Control: max-age=60\r\nX-Part: a\r\n'));
  using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {}, headers });
  for (let nth = 0; nth < 3; nth++) {
    const { head } = await proxy.request(get());
    assert.deepEqual(head.match(/^(?:X-Added|X-Part|Cache-Control): .*$/gm)?.sort(), [
      'Cache-Control: no-store',
      'X-Added: b',
      'X-Part: aa',
    ]);
  }
  assert.equal(upstream.requests.length, 1);
  using unmarked = await UpstreamFixture.serving(ok('page'));
  using other = await cachingProxy({
    ...site('a.test', unmarked),
    cache: {},
    headers: [{ name: 'Cache-Control', value: 'max-age=60', upstream_only }],
  });
  for (let nth = 0; nth < 2; nth++) await other.request(get());
  assert.equal(unmarked.requests.length, 2);
});

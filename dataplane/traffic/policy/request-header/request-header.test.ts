import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { fieldsIn } from '../../codec/http1/kept-lines.ts';
import { Http2Client, Http2UpstreamFixture } from '../../testing/http2/upstream.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

type Changes = NonNullable<RouteInput['request_headers']>;

/** The values of a field in the request that the upstream gets; null if it gets none. */
async function sent(
  changes: Changes,
  fields: string,
  more: Partial<RouteInput> = {},
  path = '/',
): Promise<((name: string) => string[]) | null> {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), request_headers: changes, ...more }]);
  await proxy.request(get(path, fields));
  const [asked] = upstream.requests;
  return asked === undefined ? null : (name) => fieldsIn(asked.head.slice(asked.head.indexOf('\r\n') + 2), name);
}

test('fields for the upstream are set, added, removed, defaulted and replaced', async () => {
  const got = await sent(
    [
      { name: 'X-Set', value: '{method} {path} {header.X-Set}' },
      { name: 'X-Add', value: '2', op: 'add' },
      { name: 'X-Secret-*', value: null },
      { name: 'X-Default', value: 'd', op: 'default' },
      { name: 'X-Set', value: 'd', op: 'default' },
      { name: 'Cookie', value: '', op: 'replace', find: 'track=1; ' },
    ],
    'X-Set: a\r\nx-set: b\r\nX-Add: 1\r\nX-Secret-A: 1\r\nx-secret-b: 2\r\nCookie: track=1; sid=2\r\n',
  );
  assert.deepEqual(
    ['x-set', 'x-add', 'x-secret-a', 'x-secret-b', 'x-default', 'cookie'].map((name) => got?.(name)),
    [['GET / a, b'], ['1', '2'], [], [], ['d'], ['sid=2']],
  );
});

test('a field that is set or removed does not remain under a spelling that upstreams may confuse with it', async () => {
  const changes: Changes = [
    { name: 'X-User', value: 'bob' },
    { name: 'X-Admin', value: null },
  ];
  const got = await sent(changes, 'X_User: eve\r\nx.user: eve\r\nX_Admin: 1\r\nX-User-Id: 7\r\n');
  assert.deepEqual(
    ['x-user', 'x_user', 'x.user', 'x_admin', 'x-user-id'].map((name) => got?.(name)),
    [['bob'], [], [], [], ['7']],
  );
});

test('a * also stands for the spellings that upstreams may confuse with a name', async () => {
  const changes: Changes = [
    { name: 'X-Internal-*', value: null },
    { name: '*-Token', value: null },
    { name: '*-Sso-*', value: null },
  ];
  const got = await sent(changes, 'X_Internal_Role: admin\r\nx.internal-id: 1\r\nMy_Token: t\r\nA_SSO.User: eve\r\nX_Inter: 2\r\n');
  assert.deepEqual(
    ['x_internal_role', 'x.internal-id', 'my_token', 'a_sso.user', 'x_inter'].map((name) => got?.(name)),
    [[], [], [], [], ['2']],
  );
});

test('a * removes neither Host nor the fields that the proxy itself sends', async () => {
  const got = await sent([{ name: '*', value: null }], 'X-A: 1\r\n');
  assert.deepEqual(
    ['x-a', 'host', 'x-forwarded-for', 'x-forwarded-host'].map((name) => got?.(name)),
    [[], ['a.test'], ['127.0.0.1'], ['a.test']],
  );
});

test('Host is what the site says, and X-Forwarded-Host stays what the client asked for', async () => {
  const got = await sent([{ name: 'Host', value: 'b.test' }], '');
  assert.deepEqual([got?.('host'), got?.('x-forwarded-host')], [['b.test'], ['a.test']]);
  assert.equal(await sent([{ name: 'Host', value: '{header.X-Host}' }], 'X-Host: b test\r\n'), null);
  assert.equal(await sent([{ name: 'Host', value: '{header.X-Host}' }], ''), null);
  assert.deepEqual((await sent([{ name: 'host', value: '{header.X-Host}' }], 'X-Host: [::1]:80\r\n'))?.('host'), ['[::1]:80']);
});

test('Host can be the address of the target that is chosen, also after a retry', async () => {
  using dead = await UpstreamFixture.serving((_, wire) => {
    wire.socket.destroy();
    return null;
  });
  using upstream = await UpstreamFixture.serving(ok('x'));
  for (const [value, host] of [
    ['{upstream_hostport}', upstream.address],
    ['{upstream_host}', '127.0.0.1'],
  ] as const) {
    using proxy = await ProxyFixture.start([{ ...site('a.test', dead, upstream), request_headers: [{ name: 'Host', value }] }]);
    for (let round = 0; round < 4; round++) assert.match((await proxy.request(get())).line, / 200 /);
    for (const { head } of upstream.requests.splice(0)) assert.deepEqual(fieldsIn(head, 'host'), [host]);
  }
});

test('an HTTP/2 upstream gets Host as :authority', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200 });
    stream.end('x');
  });
  for (const [value, host] of [
    ['b.test', 'b.test'],
    ['{upstream_hostport}', upstream.address],
  ] as const) {
    using proxy = await ProxyFixture.start([
      {
        ...site('a.test', upstream),
        transport: { protocol: 'h2c' },
        request_headers: [
          { name: 'Host', value },
          { name: 'X-A', value: '{host}' },
        ],
        methods: [{ method: 'PUT' }],
      },
    ]);
    using client = new Http2Client(proxy);
    await client.request({ ':path': '/' });
    const asked = upstream.requests.at(-1);
    assert.deepEqual(
      [':authority', 'host', 'x-a', ':method', 'x-forwarded-host'].map((name) => asked?.field(name)),
      [host, null, 'a.test', 'PUT', 'a.test'],
    );
  }
});

test('a value that would split a field never reaches an upstream', async () => {
  for (const hidden of ['%0d%0aX-Admin:%201', '%0a', '%00', '%7f'])
    assert.equal(await sent([{ name: 'X-Q', value: '{query.q}' }], '', {}, `/?q=${hidden}`), null, hidden);
  assert.equal(await sent([{ name: 'X-Q', value: '{header.x-l}{header.x-l}' }], `X-L: ${'x'.repeat(9_000)}\r\n`), null);
});

test('a path that could belong to another block is refused where a block changes fields', async () => {
  const handles: RouteInput['handles'] = [{ path: '/api/*', request_headers: [{ name: 'Authorization', value: 'Bearer x' }] }];
  const got = await sent([], '', { handles }, '/api/x');
  assert.deepEqual(got?.('authorization'), ['Bearer x']);
  assert.equal(await sent([], '', { handles }, '/api/..%2fother'), null);
});

test('the method for the upstream changes, except that of HEAD and OPTIONS *', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([
    { ...site('a.test', upstream), methods: [{ method: 'GET' }, { method: 'PUT', match: { path: ['/put'] } }] },
  ]);
  const body = 'Content-Length: 2\r\n\r\nhi';
  await proxy.request(`POST / HTTP/1.1\r\nHost: a.test\r\n${body}`);
  await proxy.request(`POST /put HTTP/1.1\r\nHost: a.test\r\n${body}`);
  const head = await proxy.request('HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  assert.match(head.line, / 200 /);
  await proxy.request('OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n');
  assert.deepEqual(
    upstream.requests.map(({ line }) => line.split(' ')[0]),
    ['GET', 'PUT', 'HEAD', 'OPTIONS'],
  );
});

test('tunnels get the changed head as well', async () => {
  using upstream = await UpstreamFixture.serving('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test', upstream),
      rewrites: [{ to: '/ws{path}' }],
      methods: [{ method: 'POST' }],
      request_headers: [
        { name: 'Host', value: '{upstream_hostport}' },
        { name: 'X-A', value: '{client_ip}' },
      ],
      headers: [
        { name: 'X-*', value: null },
        { name: 'X-Got', value: '{resp.status_code}' },
      ],
    },
  ]);
  const client = await proxy.connect();
  client.send(get('/chat', 'Connection: Upgrade\r\nUpgrade: echo\r\n'));
  const { line, head } = await client.readAnswer();
  assert.match(line, / 101 /);
  assert.deepEqual([fieldsIn(head, 'x-got'), fieldsIn(head, 'x-frame-options')], [['101'], []]);
  const [asked] = upstream.requests;
  assert.equal(asked?.line, 'GET /ws/chat HTTP/1.1');
  assert.deepEqual([fieldsIn(asked.head, 'host'), fieldsIn(asked.head, 'x-a')], [[upstream.address], ['127.0.0.1']]);
});

test('a dry run names what is changed, and shows no text of the site that may be a secret', async () => {
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test'),
      upstream: '127.0.0.1:9',
      upstreams: [{ address: '127.0.0.1:9' }],
      request_headers: [
        { name: 'Authorization', value: 'Bearer hunter2' },
        { name: 'X-Client', value: '{client_ip}' },
        { name: 'X-Old', value: null },
        { name: 'Host', value: 'b.test' },
      ],
      uri: [{ query: { name: 'key', op: 'set', value: 'hunter2' } }],
    },
  ]);
  const { policies } = await proxy.dryRun('http://a.test/x?y');
  assert.deepEqual(
    policies.map(({ verdict }) => verdict),
    [
      'changes the query parameter key',
      'changes Authorization; X-Client: 127.0.0.1; removes X-Old',
      'Host: b.test',
      'GET /x?… with Host: b.test',
    ],
  );
});

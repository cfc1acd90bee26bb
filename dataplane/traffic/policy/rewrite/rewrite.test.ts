import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { climbs } from '../../match/climbs.ts';
import { Http2Client, Http2UpstreamFixture } from '../../testing/http2/upstream.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

/** No server that decodes it as often as it can be decoded reads it. */
const UNREADABLE = '%25252541';

/** The target that an upstream gets for each path, or the status if there is none. */
async function forwarded(more: Partial<RouteInput>, ...paths: readonly string[]): Promise<string[]> {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), ...more }]);
  const got = [];
  for (const path of paths) {
    const before = upstream.requests.length;
    const { line } = await proxy.request(get(path));
    got.push(upstream.requests.length > before ? (upstream.requests.at(-1)?.line.split(' ')[1] ?? '') : line.slice(9, 12));
  }
  return got;
}

for (const [to, sent, becomes] of [
  ['/new', '/old?a=1', '/new?a=1'],
  ['/new?', '/old?a=1', '/new'],
  ['/new?b={path}', '/old?a=1', '/new?b=/old'],
  ['?lang=en', '/old?a=1', '/old?lang=en'],
  ['/index.php?q={query}', '/old?a=1', '/index.php?q=a=1'],
  ['/index.php?p={path}&admin=0', '/a%20b&admin=1;c+d?a=1', '/index.php?p=/a%20b%26admin%3D1%3Bc%2Bd&admin=0'],
  ['/index.php?p={remainder}&{query}', '/a&b=1?a=1&b=%26', '/index.php?p=a%26b%3D1&a=1&b=%26'],
  ['/index.php?p={remainder}&{query}', '/a', '/index.php?p=a'],
  ['/index.php?{query}&p={remainder}', '/a?', '/index.php?p=a'],
  ['/index.php?a&{query}&b&{query.b}&&{query}', '/old', '/index.php?a&b&'],
  ['/index.php?q={query}&b', '/old', '/index.php?q=&b'],
  ['/index.php?{query}', '/old', '/index.php'],
  ['/index.php?u={uri}', '/a%20b?c=%26&d', '/index.php?u=/a%2520b%3Fc%3D%2526%26d'],
  ['/index.php?h={host}&x={query.p}', '/old?p=a%26b', '/index.php?h=a.test&x=a%26b'],
  ['/v2{uri}', '/old?a=1', '/v2/old?a=1'],
  ['/v2{path}', '/a%2Fb/ü', '/v2/a%2Fb/%FC'],
  ['/v2{path}', '/a%2Fb', '/v2/a%2Fb'],
  ['/{query.p}', '/old?p=x%2Fy%20%26%3F%23', '/x/y%20%26%3F%23?p=x%2Fy%20%26%3F%23'],
  ['/{remainder}?', '/old/a/b', '/old/a/b'],
  ['{path}/{file}', '/a/b.txt', '/a/b.txt/b.txt'],
  ['/{path}', '//evil.test/x', '/evil.test/x'],
] as const)
  test(`${sent} rewritten to ${to} is ${becomes}`, async () => {
    assert.deepEqual(await forwarded({ rewrites: [{ from: '/*', to }] }, sent), [becomes]);
  });

test('the first matching line of the site applies, then that of the block, to the path without its prefix', async () => {
  const more: Partial<RouteInput> = {
    rewrites: [
      { from: '/a', to: '/first' },
      { from: '/ab*', to: '/second' },
      { to: '/get', match: { header: [{ name: 'X-No', values: [] }] } },
    ],
    handles: [{ path: '/api/*', strip_prefix: true, rewrites: [{ to: '/v2{uri}' }], uri: [{ strip_suffix: '.json' }] }],
  };
  assert.deepEqual(await forwarded(more, '/a', '/ab', '/b', '/api/users/7.json?x'), ['/first', '/second', '/b', '/v2/users/7?x']);
});

test('a client can’t lead a rewritten path out of the prefix that the site has written', async () => {
  const escapes = ['..', '%2e%2e', '.%2E', '%252e%252e', '..%2f', '..%5c', '..\\', '..;x', '..%3bx', '%2e%2e%2f%2e%2e', '%c0%ae.'];
  for (const to of ['/static{path}', '/static/{query.p}', '/static/{header.x-p}', '/static/x{uri}'])
    for (const hidden of escapes) {
      const path = `/x/${hidden}/y?p=${encodeURIComponent(`../${hidden}/..`)}`;
      using upstream = await UpstreamFixture.serving(ok('x'));
      using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), rewrites: [{ to }] }]);
      assert.match((await proxy.request(get(path, `X-P: a/${hidden}/b\r\n`))).line, / 400 /, `${to} ${path}`);
      assert.equal(upstream.requests.length, 0);
    }
  const invalid = ['%uff0e.', '.%09.', '%c0%c0%ae.', '%C0%AE%C0%AE', '.%c0%ae', '%e0%80%ae.', '%c0%2e.', '..%00', '..%00%zz'];
  for (const dots of [...invalid, '%E2%80%A5', '.%EF%BC%8E', '%u002e.', '%25u002e.', '..%3F', '..%23x'])
    for (const path of [`/a/${dots}`, `/a/${dots}/x`, `/${UNREADABLE}/${dots}/x`]) assert.equal(climbs(path), true, path);
  for (const slash of ['%C0%AF', '%c0%2f', '%EF%BC%8F', '%u2215', '%25u2215'])
    for (const path of [`/a/..${slash}x`, `/a/..${slash}x${UNREADABLE}`]) assert.equal(climbs(path), true, path);
  for (const path of ['/a/..b%zz', '/a/%ff/%C0.txt', '/%E4%BD%A0/..a%25252525', '/a/..b', '/a/...', '/a..', '/%2fa', '/a;..', '/a%3b..'])
    assert.equal(climbs(path), false, path);
});

test('a rewritten path that is too long is answered with 414', async () => {
  const long = 'x'.repeat(7_000);
  assert.deepEqual(await forwarded({ rewrites: [{ to: '/{path}{path}{path}' }] }, `/${long}`), ['414']);
});

for (const [change, sent, becomes] of [
  [{ strip_prefix: '/api' }, '/api/x?y', '/x?y'],
  [{ strip_prefix: '/api' }, '/%61pi/%2Fx', '/%2Fx'],
  [{ strip_prefix: '/api' }, '/api', '/'],
  [{ strip_prefix: '/api' }, '/other', '/other'],
  [{ strip_suffix: '.html' }, '/a.html?b', '/a?b'],
  [{ strip_suffix: '/a' }, '/a', '/'],
  [{ replace: { find: '/docs/', by: '/v1/' } }, '/docs/docs/docs/?u=/docs/', '/v1/docs/v1/?u=/v1/'],
  [{ replace: { find: 'a', by: '$&', limit: 2 } }, '/aaa', '/$&$&a'],
  [{ replace: { find: '/x', by: '' } }, '/x?a', '/?a'],
  [{ path_regexp: { pattern: '/v(\\d+)/([a-z]+)', by: '/$2-$1' } }, '/v1/a/v22/b?/v3/c', '/a-1/b-22?/v3/c'],
  [{ path_regexp: { pattern: '/+', by: '/' } }, '//a///b', '/a/b'],
  [{ path_regexp: { pattern: '(a+)+$', by: 'b' } }, `/${'a'.repeat(4_000)}!`, `/${'a'.repeat(4_000)}!`],
  [{ path_regexp: { pattern: 'x', by: '../' } }, '/x', '400'],
  [{ path_regexp: { pattern: 'x', by: 'y' } }, `/${'a'.repeat(5_000)}`, '414'],
  [{ query: { name: 'a', op: 'set', value: '{path}&=' } }, '/p?a=1&b=2&%61=3', '/p?b=2&a=%2Fp%26%3D'],
  [{ query: { name: 'a', op: 'add', value: 'ü' } }, '/p?a=1', '/p?a=1&a=%C3%BC'],
  [{ query: { name: 'a b', op: 'remove' } }, '/p?a+b=1&a%20b&b=%2G', '/p?b=%2G'],
  [{ query: { name: 'a', op: 'remove' } }, '/p?a=1', '/p'],
  [{ query: { name: 'a', op: 'rename', value: 'b' } }, '/p?a=1&c&a', '/p?b=1&c&b'],
] as const)
  test(`uri ${JSON.stringify(change)}: ${sent.slice(0, 40)} becomes ${becomes.slice(0, 40)}`, async () => {
    assert.deepEqual(await forwarded({ uri: [change] }, sent), [becomes]);
  });

test('what is left of a path never names a host, behind which an upstream could read a guarded path', async () => {
  const handles: RouteInput['handles'] = [{ path: '/api/admin/*', ip_filter: { deny: ['0.0.0.0/0'] } }];
  const paths = ['/api//host/admin/x', '/api///host/admin/x', '/api/\\host/admin/x', '/api/\\/host/admin/x'];
  const becomes = paths.map(() => '/host/admin/x');
  for (const more of [
    { uri: [{ strip_prefix: '/api' }] },
    { uri: [{ replace: { find: '/api', by: '' } }] },
    { uri: [{ path_regexp: { pattern: '^/api', by: '' } }] },
    { rewrites: [{ from: '/api/*', to: '/{remainder}' }] },
  ])
    assert.deepEqual(await forwarded({ handles, ...more }, '/api/admin/x', ...paths), ['403', ...becomes], JSON.stringify(more));
  assert.deepEqual(await forwarded({ uri: [{ strip_prefix: '/api' }] }, '//x', '/\\x'), ['//x', '/\\x'], 'as it was sent');
});

test('lines of uri apply in order after rewrite, each to the result of the one before', async () => {
  const more: Partial<RouteInput> = {
    uri: [{ replace: { find: 'a', by: 'b' } }, { replace: { find: 'b', by: 'c' } }, { strip_prefix: '/no', match: { method: ['POST'] } }],
    rewrites: [{ to: '/a' }],
  };
  assert.deepEqual(await forwarded(more, '/x'), ['/c']);
});

test('access rules judge the path that the client sent, even if it is rewritten', async () => {
  const handles: RouteInput['handles'] = [{ path: '/admin/*', ip_filter: { deny: ['0.0.0.0/0'] } }];
  const more = { rewrites: [{ from: '/public/*', to: '/admin/{remainder}' }], handles };
  assert.deepEqual(await forwarded(more, '/admin/x', '/public/x', '/public/..;/admin/x'), ['403', '/admin/x', '400']);
});

test('an HTTP/2 upstream gets the rewritten target, and OPTIONS * is left alone', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200 });
    stream.end('x');
  });
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), transport: { protocol: 'h2c' }, rewrites: [{ to: '/v2{uri}' }] }]);
  using client = new Http2Client(proxy);
  await client.request({ ':path': '/p?q' });
  await proxy.request('OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n');
  assert.deepEqual(
    upstream.requests.map(({ field }) => field(':path')),
    ['/v2/p?q', '*'],
  );
});

test('a dry run shows what the upstream would get, and why a request would be refused', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test', upstream),
      handles: [{ path: '/api/*', strip_prefix: true, rewrites: [{ to: '/v2{uri}' }], methods: [{ method: 'POST' }] }],
    },
  ]);
  const { policies, verdict } = await proxy.dryRun('http://a.test/api/x?y');
  assert.deepEqual(policies, [
    { name: 'method', verdict: 'GET becomes POST' },
    { name: 'rewrite', verdict: '/x?… becomes /v2/x?…' },
    { name: 'forwarded', verdict: 'POST /v2/x?… with Host: a.test' },
  ]);
  assert.match(verdict, /forwarded to/);
  assert.match((await proxy.dryRun('http://a.test/api/..%2fx')).verdict, /400: the rewritten path would have ".." as a segment/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../shared/route.ts';
import { get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

const blocks = (handles: NonNullable<RouteInput['handles']>, more: Partial<RouteInput> = {}): RouteInput => ({
  domain: 'a.test',
  upstream: null,
  tls: false,
  handles,
  ...more,
});
const saying = (path: string | null, body: string) => ({ path, respond: { status: 200, body } });

async function bodyOf(proxy: ProxyFixture, path: string): Promise<string> {
  const { line, body } = await proxy.request(get(path));
  return line.includes(' 404 ') ? '404' : body;
}

test('the first matching block in the order written serves the request', async () => {
  using proxy = await ProxyFixture.start([
    blocks([saying('/a/b/*', 'deep'), saying('/a/*', 'wide'), saying('/a/c/*', 'never'), saying('/exact', 'exact'), saying(null, 'rest')]),
  ]);
  const table: [path: string, block: string][] = [
    ['/a/b/c', 'deep'],
    ['/a/b/', 'deep'],
    ['/a/b', 'wide'],
    ['/a/c/x', 'wide'],
    ['/a', 'rest'],
    ['/exact', 'exact'],
    ['/exact?x=/a/b/c', 'exact'],
    ['/exact/', 'rest'],
    ['/', 'rest'],
  ];
  for (const [path, block] of table) assert.equal(await bodyOf(proxy, path), block, path);
});

test('blocks match the path with escapes decoded, slashes merged and dot segments removed', async () => {
  const named = (path: string | null, value: string) => ({ path, headers: [{ name: 'X-Block', value }] });
  const handles = [named('/admin/*', 'admin'), named(null, 'rest')];
  using proxy = await ProxyFixture.start([blocks(handles, { respond: { status: 200 } })]);
  const table: [path: string, block: string][] = [
    ['/%61dmin/x', 'admin'],
    ['//admin//x', 'admin'],
    ['/x/../admin/x', 'admin'],
    ['/x/%2e%2e/admin/x', 'admin'],
    ['/admin/../x', 'rest'],
    ['/admin%2Fx', 'rest'],
    ['/ADMIN/x', 'rest'],
  ];
  for (const [path, block] of table) assert.equal(field((await proxy.request(get(path))).head, 'X-Block'), block, path);
});

test('if no block matches, the site answers, or 404 if the site has nothing outside its blocks', async () => {
  using proxy = await ProxyFixture.start([
    blocks([saying('/a/*', 'block')], { respond: { status: 200, body: 'site' } }),
    blocks([saying('/a/*', 'block')], { domain: 'b.test' }),
  ]);
  assert.deepEqual([await bodyOf(proxy, '/a/x'), await bodyOf(proxy, '/x')], ['block', 'site']);
  assert.match((await proxy.request(get('/x').replace('a.test', 'b.test'))).line, / 404 /);
});

test('handle_path strips its prefix from the target as it was sent and leaves the rest and the query unchanged', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(request.line.split(' ')[1] ?? ''));
  const upstreams = [{ address: upstream.address }];
  using proxy = await ProxyFixture.start([
    blocks([
      { path: '/api/*', strip_prefix: true, upstreams },
      { path: '/v1', strip_prefix: true, upstreams },
      { path: '/kept/*', upstreams },
    ]),
  ]);
  const table: [sent: string, forwarded: string][] = [
    ['/api/users?y=2', '/users?y=2'],
    ['/api/', '/'],
    ['/api/?q', '/?q'],
    ['/%61pi/%2Fz/%7e', '/%2Fz/%7e'],
    ['//api//x', '//x'],
    ['/b/../api/x', '/x'],
    ['/api/a/../b?c=/api/', '/a/../b?c=/api/'],
    ['/v1', '/'],
    ['/v1?x=1', '/?x=1'],
    ['/kept/%41//x', '/kept/%41//x'],
  ];
  for (const [sent, forwarded] of table) assert.equal(await bodyOf(proxy, sent), forwarded, sent);
});

test('a block without targets uses the site’s, and one with targets uses only its own', async () => {
  using site = await UpstreamFixture.serving(ok('site'));
  using own = await UpstreamFixture.serving(ok('own'));
  using proxy = await ProxyFixture.start([
    blocks(
      [
        { path: '/own/*', upstreams: [{ address: own.address }] },
        { path: '/site/*', headers: [{ name: 'X-Block', value: 'site' }] },
      ],
      { upstream: site.address },
    ),
  ]);
  assert.equal(await bodyOf(proxy, '/own/x'), 'own');
  const answer = await proxy.request(get('/site/x'));
  assert.equal(answer.body, 'site');
  assert.match(answer.head, /\r\nX-Block: site\r\n/);
  assert.equal(await bodyOf(proxy, '/elsewhere'), 'site');
});

test('a host matches in any letter case, with a port and with a trailing dot, and a wildcard covers one label', async () => {
  const saysName = (domain: string): RouteInput => ({ domain, upstream: null, tls: false, respond: { status: 200, body: domain } });
  using proxy = await ProxyFixture.start(['a.test', '*.a.test', 'x.a.test', '127.0.0.1'].map(saysName));
  const table: [host: string, route: string][] = [
    ['a.test', 'a.test'],
    ['A.TEST', 'a.test'],
    ['a.test:8080', 'a.test'],
    ['a.test.', 'a.test'],
    ['A.Test.:80', 'a.test'],
    ['x.a.test', 'x.a.test'],
    ['y.a.test', '*.a.test'],
    ['x.y.a.test', '404'],
    ['test', '404'],
    ['127.0.0.1:1', '127.0.0.1'],
  ];
  for (const [host, route] of table) {
    const { line, body } = await proxy.request(get().replace('a.test', host));
    assert.equal(line.includes(' 404 ') ? '404' : body, route, host);
  }
});

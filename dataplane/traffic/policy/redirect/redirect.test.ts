import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { field } from '../../testing/wire.ts';

for (const [to, asked, location] of [
  ['/new', '/old/a?b=c', '/new'],
  ['/new/{remainder}', '/old/a/b?c=d', '/new/a/b'],
  ['/new/{http.request.uri.path.remainder}', '/old/', '/new/'],
  ['/new?{query}', '/old/a?b=c&d', '/new?b=c&d'],
  ['https://{host}/x{path}', '/old/a?b', 'https://a.test/x/old/a'],
  ['https://{http.request.host}{http.request.uri}', '/old/a?b', 'https://a.test/old/a?b'],
  ['/\\{unknown}/{}', '/old/a', '/{unknown}/{}'],
  ['{scheme}://www.{host}{uri}', '/old/a?b', 'http://www.a.test/old/a?b'],
  ['https://{labels.1}.b.test/{path.1}?q={query.b}', '/old/a?b=c%26d=e+%C3%BC', 'https://a.b.test/a?q=c%26d%3De%20%C3%BC'],
  ['/new/{query.b}', '/old/a?b=x/y%0d%0aSet-Cookie:z', '/new/x/y%0D%0ASet-Cookie%3Az'],
  ['/ü', '/old/a', '/%C3%BC'],
  ['/{header.x-to}', '/old/a', '/'],
  ['/new/{remainder}', '/old/%0d%0aSet-Cookie:x', '/new/%0D%0ASet-Cookie:x'],
] as const)
  test(`${asked} to ${to} is ${location}`, async () => {
    using proxy = await ProxyFixture.start([
      { domain: 'a.test', upstream: null, tls: false, redirects: [{ from: '/old/*', to, status: 308 }] },
    ]);
    const answer = await proxy.request(get(asked));
    assert.equal(answer.line, 'HTTP/1.1 308 Permanent Redirect');
    assert.equal(field(answer.head, 'Location'), location);
    assert.equal(answer.body, '');
  });

test('the first matching redirect answers, and a path that matches none is passed on', async () => {
  const redirects = [
    { from: '/a', to: '/first', status: 301 as const },
    { from: '/a*', to: '/second', status: 302 as const },
  ];
  using proxy = await ProxyFixture.start([
    { domain: 'a.test', upstream: null, tls: false, redirects, respond: { status: 200, body: 'on' } },
  ]);
  assert.equal(field((await proxy.request(get('/a'))).head, 'Location'), '/first');
  assert.equal(field((await proxy.request(get('/ab'))).head, 'Location'), '/second');
  assert.equal((await proxy.request(get('/b'))).body, 'on');
});

test('a disguised path is redirected like the plain one, or refused if it is ambiguous', async () => {
  using proxy = await ProxyFixture.start([
    { domain: 'a.test', upstream: null, tls: false, redirects: [{ from: '/old/*', to: '/new', status: 301 }], respond: { status: 200 } },
  ]);
  for (const path of ['/%6Fld/x', '//old/x', '/old//x', '/old/./x']) assert.match((await proxy.request(get(path))).line, / 301 /, path);
  for (const path of ['/x/../old/x', '/./old/x', '/old;/x', '/old%2Fx']) assert.match((await proxy.request(get(path))).line, / 400 /, path);
});

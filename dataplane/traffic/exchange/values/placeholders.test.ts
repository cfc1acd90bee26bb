import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { Http2Client } from '../../testing/http2/upstream.ts';
import { get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { field } from '../../testing/wire.ts';

const responding = (body: string, more: object = {}): RouteInput => ({
  domain: 'a.test',
  upstream: null,
  tls: false,
  respond: { status: 200, body },
  ...more,
});

/** The value of a text for a request. */
async function evaluated(text: string, asked = '/dir/page.tar.gz?a=1&b=x%20y+z&a=2&empty', fields = ''): Promise<string> {
  using proxy = await ProxyFixture.start([responding(text)], ['127.0.0.1']);
  return (await proxy.request(get(asked, fields))).body;
}

for (const [placeholder, value] of [
  ['{host}', 'a.test'],
  ['{hostport}', 'a.test'],
  ['{port}', ''],
  ['{method}', 'GET'],
  ['{scheme}', 'http'],
  ['{proto}', 'HTTP/1.1'],
  ['{uri}', '/dir/page.tar.gz?a=1&b=x%20y+z&a=2&empty'],
  ['{http.request.orig_uri}', '/dir/page.tar.gz?a=1&b=x%20y+z&a=2&empty'],
  ['{path}', '/dir/page.tar.gz'],
  ['{dir}', '/dir/'],
  ['{file}', 'page.tar.gz'],
  ['{file.base}', 'page.tar'],
  ['{file.ext}', '.gz'],
  ['{query}', 'a=1&b=x%20y+z&a=2&empty'],
  ['{?query}', '?a=1&b=x%20y+z&a=2&empty'],
  ['{query.a}', '1'],
  ['{query.b}', 'x y z'],
  ['{query.empty}', ''],
  ['{query.none}', ''],
  ['{path.0}|{path.1}|{path.2}', 'dir|page.tar.gz|'],
  ['{labels.0}|{labels.1}|{labels.2}', 'test|a|'],
  ['{client_ip}', '192.0.2.7'],
  ['{remote_host}', '127.0.0.1'],
  ['{header.X-Two}', '1, 2'],
  ['{header.host}', 'a.test'],
  ['{header.none}', ''],
  ['{cookie.b}', '2'],
  ['{cookie.c}', ''],
  ['{tls_version}', ''],
  ['{tls_client_subject}{http.request.tls.client.san.uris.0}', ''],
  ['{request_id}', 'id-7'],
  ['{remainder}', ''],
  ['{time.now.year}', '2023'],
] as const)
  test(`${placeholder} is ${JSON.stringify(value)}`, async () => {
    const fields = 'X-Two: 1\r\nCookie: a=1; b=2\r\nx-two: 2\r\nX-Forwarded-For: 192.0.2.7\r\nX-Request-ID: id-7\r\n';
    assert.equal(await evaluated(`<${placeholder}>`, undefined, fields), `<${value}>`);
  });

test('the remainder is what the pattern of the block matched', async () => {
  using proxy = await ProxyFixture.start([
    responding('site {remainder}', {
      handles: [{ path: '/api/*', strip_prefix: true, respond: { status: 200, body: '{path} {remainder}' } }],
    }),
  ]);
  assert.equal((await proxy.request(get('/api/users/7'))).body, '/api/users/7 users/7');
  assert.equal((await proxy.request(get('/x'))).body, 'site ');
});

test('bytes of a value and of the text around it are sent unchanged', async () => {
  assert.equal(
    Buffer.from(await evaluated('grüße {query.q} ✓', '/?q=%C3%BC%ff'), 'latin1').toString('hex'),
    `${Buffer.from('grüße ü').toString('hex')}ff20e29c93`,
  );
});

test('a request whose value would be too long is refused, with the response and before it is made', async () => {
  const long = 'x'.repeat(10_000);
  using proxy = await ProxyFixture.start([responding('{header.x-long}'.repeat(32))]);
  assert.match((await proxy.request(get('/', `X-Long: ${long}\r\n`))).line, / 400 /);
  assert.match((await proxy.request(get('/', 'X-Long: y\r\n'))).line, / 200 /);
});

test('a value that would split a field is refused in both protocols, and never reaches a response', async () => {
  const headers = [{ name: 'X-Q', value: 'q={query.q}' }];
  using proxy = await ProxyFixture.start([responding('ok', { headers, redirects: [{ from: '/moved', to: '/', status: 301 }] })]);
  using client = new Http2Client(proxy);
  for (const written of ['%0d%0aSet-Cookie:%20a=b', '%0A', '%00', 'a%0db', '%7f', '%1b'])
    for (const path of [`/?q=${written}`, `/moved?q=${written}`]) {
      const { line, head } = await proxy.request(get(path));
      assert.match(line, path.startsWith('/moved') ? / 301 / : / 400 /);
      assert.deepEqual([field(head, 'X-Q'), field(head, 'Set-Cookie')], [null, null], path);
      const over2 = await client.request({ ':path': path });
      assert.deepEqual([over2.head[':status'], over2.head['x-q']], [path.startsWith('/moved') ? 301 : 400, undefined], path);
    }
  assert.equal(field((await proxy.request(get('/?q=a%09b'))).head, 'X-Q'), 'q=a\tb');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { Http2Client, Http2UpstreamFixture } from '../../testing/http2/upstream.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

type Headers = NonNullable<RouteInput['headers']>;

/** All lines of a field in a response to `headers`, in order. */
async function answered(headers: Headers, upstreamFields: string, path = '/'): Promise<(name: string) => string[]> {
  using upstream = await UpstreamFixture.serving(ok('x', upstreamFields));
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), headers }]);
  const { head } = await proxy.request(get(path));
  return (name) => head.split('\r\n').flatMap((line) => (line.toLowerCase().startsWith(`${name}: `) ? [line.slice(name.length + 2)] : []));
}

test('add keeps the fields that are there, and a later set replaces them all', async () => {
  const got = await answered(
    [
      { name: 'Link', value: 'b', op: 'add' },
      { name: 'Link', value: 'c', op: 'add' },
      { name: 'X-A', value: '1', op: 'add' },
      { name: 'X-A', value: '2' },
    ],
    'Link: a\r\nX-A: 0\r\n',
  );
  assert.deepEqual([got('link'), got('x-a')], [['a', 'b', 'c'], ['2']]);
});

test('default applies only where the upstream has no such field, and counts as the site’s own value of a default header', async () => {
  const headers: Headers = [
    { name: 'Cache-Control', value: 'no-cache', op: 'default' },
    { name: 'X-Frame-Options', value: 'DENY', op: 'default' },
  ];
  const without = await answered(headers, '');
  assert.deepEqual([without('cache-control'), without('x-frame-options')], [['no-cache'], ['DENY']]);
  const having = await answered(headers, 'cache-control: public\r\nx-frame-options: ALLOW\r\n');
  assert.deepEqual(
    [having('cache-control'), having('x-frame-options'), having('x-content-type-options')],
    [['public'], ['ALLOW'], ['nosniff']],
  );
});

test('a name with * at an end removes every matching field, including default headers', async () => {
  const sent = 'X-Debug-A: 1\r\nx-debug-b: 2\r\nX-Other: 3\r\nServer-Id: 4\r\nX-Id: 5\r\nA-Secret-B: 6\r\n';
  const got = await answered(
    [
      { name: 'x-Debug-*', value: null },
      { name: '*-ID', value: null },
      { name: '*secret*', value: null },
      { name: 'X-Frame*', value: null },
    ],
    sent,
  );
  assert.deepEqual(
    ['x-debug-a', 'x-debug-b', 'x-other', 'server-id', 'x-id', 'a-secret-b', 'x-frame-options', 'x-content-type-options'].map(
      (name) => got(name).length,
    ),
    [0, 0, 1, 0, 0, 0, 0, 1],
  );
});

test('replace changes the text in every field of the name, without patterns', async () => {
  const got = await answered(
    [
      { name: 'Location', value: 'https://{host}', op: 'replace', find: 'http://10.0.0.5' },
      { name: 'Set-Cookie', value: '$& $1 $$', op: 'replace', find: '.*' },
    ],
    'Location: http://10.0.0.5/x?u=http://10.0.0.5\r\nSet-Cookie: a=.*; b\r\nSet-Cookie: c\r\nX-Location: http://10.0.0.5\r\n',
  );
  assert.deepEqual(
    [got('location'), got('set-cookie'), got('x-location')],
    [['https://a.test/x?u=https://a.test'], ['a=$& $1 $$; b', 'c'], ['http://10.0.0.5']],
  );
});

test('a field that a replacement would make too long is removed', async () => {
  const got = await answered([{ name: 'X-A', value: 'y'.repeat(8_000), op: 'replace', find: 'x' }], `X-A: ${'x'.repeat(10)}\r\nX-B: 1\r\n`);
  assert.deepEqual([got('x-a'), got('x-b')], [[], ['1']]);
});

test('values know the request and the response', async () => {
  const got = await answered(
    [
      { name: 'X-Seen', value: '{method} {path} {resp.status_code} {resp.header.ETag}' },
      { name: 'ETag', value: null, deferred: true },
    ],
    'ETag: "7"\r\n',
    '/page',
  );
  assert.deepEqual([got('x-seen'), got('etag')], [['GET /page 200 "7"'], []]);
});

test('deferred and other changes apply to responses of the proxy itself', async () => {
  const headers: Headers = [
    { name: 'X-Status', value: '{err.status_code}' },
    { name: 'X-Late', value: '{host}', deferred: true },
    { name: 'X-*-Options', value: null },
    { name: 'X-Content*', value: null },
  ];
  using proxy = await ProxyFixture.start([
    { ...site('a.test'), headers, handles: [{ path: '/fixed', respond: { status: 201, body: 'x' } }] },
  ]);
  for (const [path, status] of [
    ['/fixed', '201'],
    ['/nowhere', '404'],
  ] as const) {
    const { head } = await proxy.request(get(path));
    assert.deepEqual(
      [field(head, 'X-Status'), field(head, 'X-Late'), field(head, 'X-Content-Type-Options')],
      [status, 'a.test', null],
      path,
    );
    assert.equal(head.match(/^x-late:/gim)?.length, 1);
  }
});

test('changes under a condition apply to the requests that match', async () => {
  const headers: Headers = [
    { name: 'X-A', value: '{path}', match: { path: ['/a*'] } },
    { name: 'X-A', value: 'all', op: 'default' },
  ];
  assert.deepEqual((await answered(headers, '', '/a1'))('x-a'), ['/a1']);
  assert.deepEqual((await answered(headers, '', '/b'))('x-a'), ['all']);
});

test('clients and upstreams that speak HTTP/2 get the same changes', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200, 'x-debug-a': '1', link: 'a' });
    stream.end('x');
  });
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test', upstream),
      transport: { protocol: 'h2c' },
      headers: [
        { name: 'X-Debug-*', value: null },
        { name: 'Link', value: '<{path}>', op: 'add' },
        { name: 'X-Proto', value: '{proto}' },
      ],
    },
  ]);
  using client = new Http2Client(proxy);
  const { head } = await client.request({ ':path': '/p' });
  assert.deepEqual([head['x-debug-a'], head.link, head['x-proto']], [undefined, 'a, </p>', 'HTTP/2.0']);
});

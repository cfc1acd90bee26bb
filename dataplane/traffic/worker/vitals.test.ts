import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { Cidr } from '../../../shared/values/cidr.ts';
import type { VitalsObservation } from '../protocol.ts';
import { Http2Client } from '../testing/http2/upstream.ts';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { field } from '../testing/wire.ts';

const ABSENT = { address: '127.0.0.1:1' };
const measuring = () => ProxyFixture.start([{ ...site('a.test', ABSENT), analytics: {} }, site('b.test', ABSENT)]);

const post = (body: string, fields = '') =>
  `POST /.sluice/vitals HTTP/1.1\r\nHost: a.test\r\n${fields}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const statusOf = async (proxy: ProxyFixture, text: string): Promise<number> => Number((await proxy.request(text)).line.split(' ')[1]);
const observed = (proxy: ProxyFixture): readonly VitalsObservation[] => {
  proxy.counted();
  return proxy.messages.flatMap((message) => (message.kind === 'report' ? message.report.domains.flatMap(({ vitals }) => vitals) : []));
};

test('the script is compressed as the client accepts it, has an ETag for each form, and may be cached for a day', async () => {
  using proxy = await measuring();
  const plain = await proxy.request(get('/.sluice/vitals.js'));
  assert.match(plain.body, /webVitals/);
  assert.equal(field(plain.head, 'content-type'), 'text/javascript; charset=utf-8');
  const tags = new Set([field(plain.head, 'etag')]);
  for (const [accepted, coding, decode] of [
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync],
  ] as const) {
    const { head, body } = await proxy.request(get('/.sluice/vitals.js', `Accept-Encoding: ${accepted}\r\n`));
    assert.equal(decode(Buffer.from(body, 'latin1')).toString('latin1'), plain.body);
    assert.deepEqual(
      [field(head, 'content-encoding'), field(head, 'vary'), field(head, 'cache-control')],
      [coding, 'Accept-Encoding', 'public, max-age=86400'],
    );
    const tag = field(head, 'etag') ?? '';
    tags.add(tag);
    const again = await proxy.request(get('/.sluice/vitals.js', `Accept-Encoding: ${accepted}\r\nIf-None-Match: ${tag}\r\n`));
    assert.match(again.line, /304/);
  }
  assert.equal(tags.size, 3);
});

test('each path has its methods, and everything else under /.sluice/ is 404, also with a body', async () => {
  using proxy = await measuring();
  assert.equal(await statusOf(proxy, 'HEAD /.sluice/vitals.js HTTP/1.1\r\nHost: a.test\r\n\r\n'), 200);
  assert.equal(field((await proxy.request(get('/.sluice/vitals'))).head, 'allow'), 'POST');
  const wrong = await proxy.request('DELETE /.sluice/vitals.js HTTP/1.1\r\nHost: a.test\r\n\r\n');
  assert.match(wrong.line, /405/);
  assert.equal(field(wrong.head, 'allow'), 'GET, HEAD');
  const body = 'x'.repeat(100_000);
  for (const path of ['/.sluice/', '/.sluice/vitals/', '/.sluice/vitals.js/x', '/.sluice/Vitals', '/.sluice/%76itals2'])
    assert.equal(
      await statusOf(proxy, `POST ${path} HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
      404,
      path,
    );
});

test('if analytics are off, nothing is served and no report is accepted', async () => {
  using proxy = await measuring();
  assert.equal(await statusOf(proxy, get('/.sluice/vitals.js').replace('a.test', 'b.test')), 404);
  assert.equal(await statusOf(proxy, post('{"lcp":1}').replace('a.test', 'b.test')), 404);
  assert.deepEqual(observed(proxy), []);
});

test('any subset of a page’s measurements is accepted, and unknown members are ignored', async () => {
  using proxy = await measuring();
  const posted = ['{"lcp":1234.5,"cls":0.12,"inp":80}', '{"cls":0,"ttfb":3}', '{"lcp":60000,"cls":100,"inp":60000}', '{}'];
  for (const [at, body] of posted.entries())
    assert.equal(await statusOf(proxy, post(body, at === 0 ? 'Content-Type: text/plain\r\nOrigin: https://a.test\r\n' : '')), 204, body);
  assert.deepEqual(observed(proxy), [{ lcp: 1234.5, cls: 0.12, inp: 80 }, { cls: 0 }, { lcp: 60_000, cls: 100, inp: 60_000 }, {}]);
  assert.equal(proxy.counted().get('a.test')?.requests, 0, 'they are not requests of visitors');
});

test('Web Vitals of visits that are counted separately are not kept: Sec-GPC, excluded addresses and paths, prefetches', async () => {
  const analytics = { exclude: ['203.0.113.0/24', '/admin/*'] };
  using proxy = await ProxyFixture.with([{ ...site('a.test', ABSENT), analytics }], { trustedProxies: ['127.0.0.0/8'] as Cidr[] });
  for (const field of [
    'Sec-GPC: 1',
    'X-Forwarded-For: 203.0.113.9',
    'Sec-Purpose: prefetch;prerender',
    'Referer: https://a.test/%61dmin/x?y',
  ])
    assert.equal(await statusOf(proxy, post('{"lcp":1}', `${field}\r\n`)), 204, field);
  using client = new Http2Client(proxy);
  assert.equal((await client.request({ ':method': 'POST', ':path': '/.sluice/vitals', 'sec-gpc': '1' }, '{"lcp":1}')).status, 204);
  assert.equal(await statusOf(proxy, post('{"lcp":2}', 'Sec-GPC: 0\r\nReferer: https://a.test/x?/admin/\r\n')), 204);
  assert.deepEqual(observed(proxy), [{ lcp: 2 }]);
});

test('a body without a length is read, too, over HTTP/1.1 and HTTP/2', async () => {
  using proxy = await measuring();
  const chunked = 'POST /.sluice/vitals HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n';
  assert.equal(await statusOf(proxy, `${chunked}5\r\n{"inp\r\n5\r\n":42}\r\n0\r\n\r\n`), 204);
  using client = new Http2Client(proxy);
  assert.equal((await client.request({ ':method': 'POST', ':path': '/.sluice/vitals' }, '{"inp":43}')).status, 204);
  assert.deepEqual(observed(proxy), [{ inp: 42 }, { inp: 43 }]);
  const long = 'x'.repeat(5_000);
  assert.equal(await statusOf(proxy, `${chunked}${long.length.toString(16)}\r\n${long}\r\n`), 413);
  assert.equal((await client.request({ ':method': 'POST', ':path': '/.sluice/vitals' }, long)).status, 413);
});

test('checks come in their order: size, origin, rate, values', async () => {
  using proxy = await measuring();
  const foreign = 'Origin: https://b.test\r\n';
  const exact = `{"lcp":1}${' '.repeat(4_096 - 9)}`;
  assert.equal(await statusOf(proxy, post(`${exact} `, foreign)), 413);
  assert.equal(await statusOf(proxy, post(exact, foreign)), 403);
  assert.equal(await statusOf(proxy, post('nonsense', 'Origin: null\r\n')), 403);
  assert.equal(await statusOf(proxy, post(exact)), 204);
  for (let count = 1; count < 10; count++) assert.equal(await statusOf(proxy, post('nonsense')), 400);
  const over = await proxy.request(post('nonsense'));
  assert.match(over.line, /429/);
  assert.equal(field(over.head, 'retry-after'), '1');
  assert.equal(await statusOf(proxy, post('nonsense', foreign)), 403);
  proxy.clock.pass(2_000);
  assert.equal(await statusOf(proxy, post('{}')), 204);
});

test('a flood from many addresses to many hosts is counted up to 2,000 reports a second', async () => {
  const trustedProxies = ['127.0.0.0/8'] as Cidr[];
  using proxy = await ProxyFixture.with([{ ...site('*.a.test', ABSENT), analytics: {} }], { trustedProxies });
  const client = await proxy.connect();
  const flood = async (count: number): Promise<void> => {
    for (let nth = 0; nth < count; nth++) {
      client.send(post('{"lcp":1}', `X-Forwarded-For: 2001:db8:0:${nth.toString(16)}::1\r\n`).replace('a.test', `h${nth % 10}.a.test`));
      assert.match((await client.readAnswer()).line, / 204 /);
    }
  };
  await flood(2_001);
  assert.equal(observed(proxy).length, 2_000);
  await flood(1);
  assert.equal(observed(proxy).length, 2_001);
});

for (const body of [
  ...['', 'nonsense', '[]', 'null', '"x"', '1', '{"lcp":"1"}', '{"lcp":null}', '{"lcp":-1}', '{"lcp":60001}'],
  ...['{"cls":100.1}', '{"inp":1e400}', '{"inp":true}', '{"lcp":1,"inp":-0.5}'],
])
  test(`a report that is wrong is refused: ${body || 'nothing'}`, async () => {
    using proxy = await measuring();
    assert.equal(await statusOf(proxy, post(body)), 400);
    assert.deepEqual(observed(proxy), []);
  });

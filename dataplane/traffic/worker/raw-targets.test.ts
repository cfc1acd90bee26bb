import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Http2Client } from '../testing/http2/upstream.ts';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

test('a target with raw UTF-8 or Latin-1 is matched, and escaped as browsers do before it is forwarded', async () => {
  using upstream = await UpstreamFixture.serving(ok('block'));
  using other = await UpstreamFixture.serving(ok('site'));
  const handles = [{ path: '/caf%C3%A9/*', strip_prefix: true, upstreams: [{ address: upstream.address }] }];
  using proxy = await ProxyFixture.start([{ ...site('a.test', other), handles }]);
  assert.equal((await proxy.request(get('/caf\xc3\xa9/\xfcber?q=\xe9'))).body, 'block');
  assert.equal(upstream.requests[0]?.line, 'GET /%FCber?q=%E9 HTTP/1.1');
  assert.equal((await proxy.request(get('/caf\xe9/'))).body, 'site');
  assert.equal(other.requests[0]?.line, 'GET /caf%E9/ HTTP/1.1');
});

test('the same applies over HTTP/2 and to HTTP/2 upstreams', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  using speaker = new Http2Client(proxy);
  assert.equal((await speaker.request({ ':path': '/caf\xc3\xa9?\xff' })).status, 200);
  assert.equal(upstream.requests[0]?.line, 'GET /caf%C3%A9?%FF HTTP/1.1');
});

test('a redirect escapes it too', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  const redirects = [{ from: '/%C3%A9/*', to: 'https://b.test/{remainder}', status: 302 as const }];
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), redirects }]);
  assert.equal(field((await proxy.request(get('/\xc3\xa9/\xc3\xbc'))).head, 'Location'), 'https://b.test/%C3%BC');
});

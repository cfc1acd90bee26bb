import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { CODE, FRAME, word } from '../../testing/http2/frames.ts';
import { Http2Client, Http2UpstreamFixture, okay } from '../../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

const limited = (max_size: number, more: object = {}) => ({ ...site('a.test'), request_body: { max_size }, ...more });
const post = (body: string, path = '/'): string => `POST ${path} HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const CHUNKED = 'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

test('a request whose Content-Length exceeds the limit gets 413 without reaching the upstream or being asked for its body', async () => {
  using upstream = await UpstreamFixture.serving(ok('read'));
  using proxy = await ProxyFixture.start([limited(10, site('a.test', upstream))]);
  assert.match((await proxy.request(post('0123456789'))).line, / 200 /);
  assert.match((await proxy.request(post('0123456789a'))).line, / 413 Content Too Large| 413 Payload Too Large/);
  const client = await proxy.connect();
  client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n');
  assert.match((await client.readAnswer()).line, / 413 /);
  assert.equal(upstream.requests.length, 1);
});

test('a chunked body is forwarded until it exceeds the limit; then the client gets 413 and the upstream’s request is cut off', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([limited(10, site('a.test', upstream))]);
  const client = await proxy.connect();
  client.send(CHUNKED + chunk('01234'));
  const target = await upstream.accept();
  await target.until('the first chunk', () => target.unread.includes('01234'));
  client.send(chunk('567890'));
  assert.match((await client.readAnswer()).line, / 413 /);
  await target.until('the connection to be closed', () => target.ended || target.closed);
  assert.ok(!target.unread.includes('\r\n0\r\n'), 'the body must not look complete');
  await client.until('the connection to be closed', () => client.ended || client.closed);
});

test('a chunked body of exactly the limit passes, and the next request has a limit of its own', async () => {
  using upstream = await UpstreamFixture.serving(ok('read'));
  using proxy = await ProxyFixture.start([limited(10, site('a.test', upstream))]);
  const client = await proxy.connect();
  for (let time = 0; time < 3; time++) {
    client.send(CHUNKED + chunk('01234') + chunk('56789') + chunk(''));
    assert.match((await client.readAnswer()).line, / 200 /);
  }
});

test('a response that has begun is truncated when the body exceeds the limit', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([limited(10, site('a.test', upstream))]);
  const client = await proxy.connect();
  client.send(CHUNKED + chunk('01234'));
  const target = await upstream.accept();
  await target.until('the first chunk', () => target.unread.includes('01234'));
  target.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun');
  await client.until('the response to begin', () => client.unread.includes('begun'));
  client.send(chunk('567890'));
  await client.until('the connection to be closed', () => client.ended || client.closed);
  assert.ok(client.unread.endsWith('begun'));
});

test('a body over HTTP/2 without a length is counted, towards an HTTP/2 upstream, too', async () => {
  using upstream = await Http2UpstreamFixture.serving(okay('read'));
  using proxy = await ProxyFixture.start([limited(10, { ...site('a.test', upstream), transport: { protocol: 'h2c' } })]);
  using client = new Http2Client(proxy);
  assert.equal((await client.request({ ':method': 'POST', ':path': '/' }, '0123456789')).status, 200);
  const stream = client.session.request({ ':method': 'POST', ':path': '/', ':authority': 'a.test' });
  stream.on('error', () => undefined);
  const head = once(stream, 'response');
  stream.write('01234');
  stream.write('567890');
  assert.equal((await head)[0][':status'], 413);
  stream.destroy();
  assert.equal((await client.request({ ':method': 'POST', ':path': '/' }, 'again')).status, 200, 'the connection is still good');
});

for (const [what, max, rest] of [
  ['is too much', 4, chunk('')],
  ['and the rest are too much', 7, chunk('567') + chunk('')],
] as const)
  test(`a body gets 413 if what a target has got of it in vain ${what} for a newer table`, async () => {
    using target = await FrameTargetFixture.serving(() => undefined);
    using added = await UpstreamFixture.start();
    using proxy = await ProxyFixture.start([{ ...site('a.test', target), transport: { protocol: 'h2c' } }]);
    const client = await proxy.connect();
    client.send(CHUNKED + chunk('01234'));
    await eventually('its beginning', () => target.connections[0]?.received.some(({ type }) => type === FRAME.data) === true);
    await proxy.publish([limited(max, site('a.test', added))]);
    target.refuse();
    // GOAWAY: the target has processed nothing.
    target.connections[0]?.send(FRAME.goAway, 0, 0, Buffer.concat([word(0), word(CODE.none)]));
    client.send(rest);
    assert.match((await client.readAnswer()).line, / 413 /);
  });

test('a block’s limit replaces its site’s', async () => {
  using proxy = await ProxyFixture.start([
    limited(4, {
      respond: { status: 200, body: 'in' },
      handles: [
        { path: '/upload', request_body: { max_size: 20 }, respond: { status: 200, body: 'in' } },
        { path: '/none', request_body: { max_size: 0 }, respond: { status: 200, body: 'in' } },
      ],
    }),
  ]);
  const status = async (text: string) => (await proxy.request(text)).line.slice(9, 12);
  assert.deepEqual([await status(post('12345')), await status(post('12345', '/upload'))], ['413', '200']);
  assert.deepEqual([await status(post('1', '/none')), await status(get('/none'))], ['413', '200']);
});

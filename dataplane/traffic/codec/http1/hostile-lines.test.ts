import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { test } from 'node:test';
import { Http2Client, Http2UpstreamFixture, h2c } from '../../testing/http2/upstream.ts';
import { get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

/** A line that could be read as a request by a recipient that takes the last chunk for the end of the message. */
const SMUGGLED = 'X:POST / HTTP/1.1\r\nY: voil\xc3\xa0 \r\nContent-Type: text/html\r\nX.Forwarded.For: 192.0.2.7\r\n';
const ANEW = 'X: POST / HTTP/1.1\r\nY: voil\xc3\xa0\r\n';

test('request trailers are rewritten without the white space they arrived with', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  await proxy.request(`POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n${SMUGGLED}\r\n`);
  assert.equal(upstream.requests[0]?.trailers, ANEW);
});

test('response trailers are rewritten too', async () => {
  using upstream = await UpstreamFixture.serving(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n${SMUGGLED}\r\n`);
  using proxy = await ProxyFixture.before(upstream);
  assert.equal((await proxy.request(get())).trailers, ANEW);
  using speaker = new Http2Client(proxy);
  assert.equal((await speaker.request({ ':path': '/' })).trailers.x, 'POST / HTTP/1.1');
});

test('trailers that arrive over HTTP/2 are rewritten in both directions', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ x: 'POST / HTTP/1.1', vary: 'a', 'x-forwarded-for': 'b' }));
    stream.end('x');
  });
  using proxy = await h2c(upstream);
  assert.equal((await proxy.request(get())).trailers, 'x: POST / HTTP/1.1\r\n');
  using target = await UpstreamFixture.serving(ok('x'));
  using before = await ProxyFixture.before(target);
  using speaker = new Http2Client(before);
  const stream = speaker.session.request(
    { ':authority': 'a.test', ':method': 'POST', ':path': '/' },
    { endStream: false, waitForTrailers: true },
  );
  stream.on('wantTrailers', () => stream.sendTrailers({ x: 'POST / HTTP/1.1', content_type: 'a', range: 'b' }));
  stream.end('a');
  for await (const _ of stream);
  assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  assert.equal(target.requests[0]?.trailers, 'x: POST / HTTP/1.1\r\n');
});

for (const line of ['X:POST / HTTP/1.1', 'X:\tPOST / HTTP/1.1 \t', 'X:   POST / HTTP/1.1'])
  test(`the line ${JSON.stringify(line)} of a head is forwarded with exactly one space`, async () => {
    using upstream = await UpstreamFixture.serving(ok('x', 'A:b\t\r\n'));
    using proxy = await ProxyFixture.before(upstream);
    const { head } = await proxy.request(get('/', `${line}\r\n`));
    assert.match(upstream.requests[0]?.head ?? '', /\r\nX: POST \/ HTTP\/1\.1\r\n/);
    assert.match(head, /\r\nA: b\r\n/);
  });

for (const expect of ['', 'y 100-continue', '100-continue, 100-continue', '200-ok', '100-continue\r\nExpect: 100-continue'])
  test(`the expectation ${JSON.stringify(expect)} is answered with 417 and never reaches an upstream`, async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.before(upstream);
    const fields = `Host: a.test\r\nExpect: ${expect}\r\nContent-Length: 1\r\n\r\nx`;
    assert.equal((await proxy.request(`POST / HTTP/1.1\r\n${fields}`)).line, 'HTTP/1.1 417 Expectation Failed');
    assert.equal(upstream.connections.length, 0);
  });

for (const user of ['\x85admin', 'admin\xa0', '\xc2\xa0admin', 'admin\xef\xbb\xbf'])
  test(`the value ${JSON.stringify(user)}, which some upstreams strip, is answered with 400`, async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.before(upstream);
    assert.match((await proxy.request(get('/', `User: ${user}\r\n`))).line, / 400 /);
    assert.equal(upstream.connections.length, 0);
  });

test('letters beyond ASCII are forwarded byte for byte, in UTF-8 and in Latin-1', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', 'Content-Disposition: inline; filename="voil\xc3\xa0"; x=\xa0\r\n'));
  using proxy = await ProxyFixture.before(upstream);
  const cookie = 'Cookie: city=M\xc3\xa1laga; name=voil\xc3\xa0\r\nX: \xe9t\xe9\r\n';
  const { head } = await proxy.request(get('/', cookie));
  assert.ok(upstream.requests[0]?.head.includes(cookie));
  assert.ok(head.includes('filename="voil\xc3\xa0"; x=\xa0\r\n'));
});

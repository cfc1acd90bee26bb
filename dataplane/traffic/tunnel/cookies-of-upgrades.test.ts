import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import { test } from 'node:test';
import { Http2Client } from '../testing/http2/upstream.ts';
import { ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

/** A site whose only block has a share of all browsers, and two targets between which a cookie decides. */
const sticky = (...upstreams: readonly UpstreamFixture[]) => ({
  ...site('a.test'),
  handles: [
    {
      path: null,
      match: { share: { from: 0, to: 1, of: 1, by: 'cookie' as const } },
      upstreams: upstreams.map(({ address }) => ({ address })),
      lb_policy: { policy: 'cookie' as const, name: 'route' },
    },
  ],
});

/** A target that accepts every WebSocket, and sets a cookie itself. */
const accepting = (): Promise<UpstreamFixture> =>
  UpstreamFixture.serving(({ head }) => {
    const key = field(head, 'Sec-WebSocket-Key');
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSet-Cookie: own=1\r\n\r\n`;
  });

/** Opens a WebSocket over HTTP/1.1. @returns the cookies of the 101, as `name=value`. */
async function openOverHttp1(proxy: ProxyFixture, cookie: string): Promise<string[]> {
  const client = await proxy.connect();
  const key = Buffer.from('0123456789abcdef').toString('base64');
  client.send(
    `GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\nCookie: ${cookie}\r\n\r\n`,
  );
  const head = await client.readHead();
  assert.match(head, /^HTTP\/1\.1 101 /);
  return (head.match(/^Set-Cookie: [^;\r\n]*/gim) ?? []).map((line) => line.slice('Set-Cookie: '.length));
}

/** The same by an extended CONNECT (RFC 8441). */
async function openOverHttp2(proxy: ProxyFixture, cookie: string): Promise<string[]> {
  using client = new Http2Client(proxy);
  await once(client.session, 'remoteSettings');
  const stream = client.session.request(
    {
      ...{ ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'http', ':path': '/chat', ':authority': 'a.test' },
      ...{ 'sec-websocket-version': '13', cookie },
    },
    { endStream: false },
  );
  stream.on('error', () => undefined);
  const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  assert.equal(Number(head[':status']), 200);
  return (head['set-cookie'] ?? []).map((line) => line.split(';')[0] ?? '');
}

for (const [protocol, open] of [
  ['HTTP/1.1', openOverHttp1],
  ['HTTP/2', openOverHttp2],
] as const)
  test(`an upgrade over ${protocol} sets the cookies that keep a browser at its target and in its group, and obeys them`, async () => {
    using one = await accepting();
    using two = await accepting();
    using proxy = await ProxyFixture.start([sticky(one, two)]);
    const cookies = await open(proxy, 'x=1');
    assert.deepEqual(cookies.map((cookie) => cookie.split('=')[0]).sort(), ['own', 'route', 'sluice_split']);
    const chosen = one.requests.length === 1 ? one : two;
    assert.deepEqual([one.requests.length + two.requests.length, chosen.requests.length], [1, 1]);
    for (let nth = 0; nth < 3; nth++) assert.deepEqual(await open(proxy, cookies.join('; ')), ['own=1'], 'known already');
    assert.equal(chosen.requests.length, 4);
  });

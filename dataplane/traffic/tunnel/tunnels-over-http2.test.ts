import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import type { Writable } from 'node:stream';
import { afterEach, beforeEach, test } from 'node:test';
import { targetKey } from '../../ledger/targets.ts';
import { Http2Client } from '../testing/http2/upstream.ts';
import { eventually, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field, type Wire } from '../testing/wire.ts';

const CHAT = { ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'http', ':path': '/chat', ':authority': 'a.test' };

let upstream: UpstreamFixture;
let proxy: ProxyFixture;
let client: Http2Client;

beforeEach(async () => {
  upstream = await UpstreamFixture.start();
  proxy = await ProxyFixture.before(upstream);
  client = new Http2Client(proxy);
  await once(client.session, 'remoteSettings');
});
afterEach(() => {
  client[Symbol.dispose]();
  proxy[Symbol.dispose]();
  upstream[Symbol.dispose]();
});

function sendRequest(fields: object = {}): ClientHttp2Stream {
  const stream = client.session.request({ ...CHAT, 'sec-websocket-version': '13', ...fields }, { endStream: false });
  stream.on('error', () => undefined);
  return stream;
}

const answerTo = async (stream: ClientHttp2Stream) => (await once(stream, 'response'))[0] as IncomingHttpHeaders & { ':status'?: number };
const accept = (key: string | null) => createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
const head101 = (head: string, more = '') =>
  `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept(field(head, 'Sec-WebSocket-Key'))}\r\n${more}\r\n`;
const inFlight = () => proxy.ledger.targets.inFlight(proxy.ledger.targets.find(targetKey(upstream.address, false)));

/** Advances the clock by a minute and lets the client acknowledge a PING. */
async function minute(): Promise<void> {
  proxy.clock.pass(60_000);
  await new Promise((resolve) => client.session.ping(resolve));
}

/** An established tunnel with both of its sides. */
async function tunnel(early = ''): Promise<{ stream: ClientHttp2Stream; target: Wire }> {
  const stream = sendRequest();
  const target = await upstream.accept();
  const head = await target.readHead();
  target.send(`${head101(head)}${early}`);
  await answerTo(stream);
  return { stream, target };
}

test('extended CONNECT is offered (RFC 8441 3)', () => {
  assert.equal(client.session.remoteSettings.enableConnectProtocol, true);
});

test('extended CONNECT requests an upgrade from the target and passes on the negotiated protocol', async () => {
  const stream = sendRequest({ 'sec-websocket-protocol': 'chat', cookie: 'a=b', origin: 'https://a.test' });
  const target = await upstream.accept();
  const head = await target.readHead();
  assert.match(head, /^GET \/chat HTTP\/1.1\r\nHost: a.test\r\n/);
  assert.deepEqual(
    [
      'Connection',
      'Upgrade',
      'Sec-WebSocket-Version',
      'Sec-WebSocket-Protocol',
      'Cookie',
      'Origin',
      'X-Forwarded-For',
      'Content-Length',
    ].map((name) => field(head, name)),
    ['Upgrade', 'websocket', '13', 'chat', 'a=b', 'https://a.test', '127.0.0.1', null],
  );
  target.send(head101(head, 'Sec-WebSocket-Protocol: chat\r\n'));
  const answer = await answerTo(stream);
  assert.deepEqual(
    [':status', 'sec-websocket-protocol', 'sec-websocket-accept', 'connection', 'upgrade', 'x-frame-options'].map((name) => answer[name]),
    [200, 'chat', undefined, undefined, undefined, 'SAMEORIGIN'],
  );
});

test('bytes are relayed in both directions, including those the target sends with its 101', async () => {
  const { stream, target } = await tunnel('early');
  assert.equal(String((await once(stream, 'data'))[0]), 'early');
  stream.write('ping');
  assert.equal(await target.readThrough('ping'), 'ping');
  target.send('pong');
  assert.equal(String((await once(stream, 'data'))[0]), 'pong');
  assert.equal(inFlight(), 1);
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [1, 0, 0, 0, 0, 0]);
});

test('either side may end first', async () => {
  const { stream, target } = await tunnel();
  stream.end('bye');
  await target.readThrough('bye');
  await eventually('the target to see the end', () => target.ended);
  target.send('so long');
  assert.equal(String((await once(stream, 'data'))[0]), 'so long');
  target.socket.end();
  await once(stream, 'close');
  assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  await eventually('nothing to be under way', () => inFlight() === 0);
  assert.equal(proxy.counted().get('a.test')?.bytes, 7);
});

test('a client that resets its stream closes the connection to the target', async () => {
  const { stream, target } = await tunnel();
  stream.close(constants.NGHTTP2_CANCEL);
  await eventually('the connection of the target to close', () => target.closed || target.ended);
  await eventually('nothing to be under way', () => inFlight() === 0);
});

test('a target that resets its connection resets the stream', async () => {
  const { stream, target } = await tunnel();
  target.socket.resetAndDestroy();
  await once(stream, 'close');
  assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL);
});

test("a client that does not read the target's last bytes is disconnected after a minute", async () => {
  await new Promise<void>((resolve) => client.session.settings({ initialWindowSize: 0 }, () => resolve()));
  const { stream, target } = await tunnel();
  target.end('so long');
  stream.end();
  await eventually('the connection of the target to close', () => target.closed);
  for (let half = 0; half < 4; half++) {
    proxy.clock.pass(30_000);
    await new Promise(setImmediate);
  }
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
});

test('a tunnel may be idle while other requests share its connection', async () => {
  const { stream, target } = await tunnel();
  for (let minutes = 0; minutes < 30; minutes++) await minute();
  const other = client.request({ ':path': '/' });
  (await upstream.accept()).send(ok('x'));
  assert.equal((await other).body, 'x');
  target.send('still there');
  assert.equal(String((await once(stream, 'data'))[0]), 'still there');
});

/** How many bytes a side accepts before it signals backpressure. */
async function poured(into: Writable): Promise<number> {
  const piece = Buffer.alloc(1_000_000);
  let written = 0;
  while (written < 100_000_000) {
    written += piece.length;
    const room =
      into.write(piece) || (await Promise.race([once(into, 'drain'), new Promise((end) => setTimeout(end, 200, null))])) !== null;
    if (!room) break;
  }
  return written;
}

test('a client that does not read pauses the target, and vice versa', async () => {
  const { stream, target } = await tunnel();
  stream.pause();
  const down = await poured(target.socket);
  // However long that takes, because a tunnel has no time limit.
  for (let minutes = 0; minutes < 5; minutes++) await minute();
  target.socket.pause();
  const up = await poured(stream);
  assert.equal(stream.closed, false);
  assert.ok(down < 50_000_000 && up < 50_000_000, `${down} ${up}`);
});

for (const [what, answer] of [
  ['ignores the upgrade', ok('plain')],
  [
    'hashes another key',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n',
  ],
  ['switches to another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n'],
] as const)
  test(`a target that ${what} opens no tunnel`, async () => {
    const stream = sendRequest();
    const target = await upstream.accept();
    await target.readHead();
    target.send(answer);
    const { ':status': status } = await answerTo(stream);
    assert.equal(status, answer.includes(' 200 ') ? 501 : 502);
    await once(stream.resume(), 'close');
    await eventually('nothing to be under way', () => inFlight() === 0);
  });

test('the response of a target that declines is passed on', async () => {
  const stream = sendRequest();
  const target = await upstream.accept();
  await target.readHead();
  target.send('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
  const answer = await answerTo(stream);
  assert.deepEqual([answer[':status'], String((await once(stream, 'data'))[0])], [403, 'no']);
});

test('a response of the proxy itself is never read as an accepted upgrade', async () => {
  await proxy.publish([{ ...site('a.test'), respond: { status: 200, body: 'fixed' } }]);
  const stream = sendRequest();
  assert.equal((await answerTo(stream))[':status'], 501);
  await once(stream.resume(), 'close');
});

test('a tunnel whose target leaves its route is closed after a grace period', async () => {
  const { stream } = await tunnel();
  using other = await UpstreamFixture.start();
  await proxy.publish([site('a.test', other)]);
  proxy.clock.pass(29_000);
  assert.equal(stream.closed, false);
  proxy.clock.pass(2_000);
  await once(stream, 'close');
});

test('other protocols are refused', async () => {
  assert.equal((await answerTo(sendRequest({ ':protocol': 'connect-udp' })))[':status'], 501);
});

test('a WebSocket whose client has ended its side is closed once nothing is delivered for a minute, although its target never ends', async () => {
  const { stream, target } = await tunnel();
  stream.end();
  await target.until('the end of the client', () => target.ended);
  await minute();
  await eventually('nothing to be left', () => inFlight() === 0);
});

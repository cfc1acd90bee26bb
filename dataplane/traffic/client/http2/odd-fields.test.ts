import assert from 'node:assert/strict';
import { test } from 'node:test';
import { block, type Field, FLAG, FRAME, Frames, head } from '../../testing/http2/frames.ts';
import { eventually, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

const SOCKET = head([':method', 'CONNECT'], [':protocol', 'websocket'], [':path', '/chat']);
const UPGRADE = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n';

/** Checks that nothing was thrown: an exception is logged with its stack. */
const nothingThrown = ({ log }: ProxyFixture): void =>
  assert.deepEqual(
    log.lines.filter(({ fields }) => 'ended' in fields),
    [],
  );

const FIELDS: readonly Field[] = [
  ['trailer', 'x'],
  ['te', 'trailers'],
  ['expect', '100-continue'],
  ['sec-websocket-key', 'x'],
  ['date', 'x'],
  ['max-forwards', '3'],
  ['accept-encoding', ''],
  ['content-encoding', 'br'],
  ['user', '\xff\xfe'],
];

test('a WebSocket request is forwarded with any other fields, over HTTP/2 and HTTP/1.1', async () => {
  using upstream = await UpstreamFixture.serving('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
  using proxy = await ProxyFixture.before(upstream);
  for (const [name, value] of FIELDS) {
    using client = await Frames.plain(proxy.port);
    client.greet().request(1, [...SOCKET, [name, value]], 0);
    await client.until('an answer', () => client.status(1) !== undefined);
    assert.equal(client.status(1), 403, name);
    if (name !== 'te') assert.match((await proxy.request(`${UPGRADE}${name}: ${value}\r\n\r\n`)).line, / 403 /, name);
  }
  nothingThrown(proxy);
  assert.ok(upstream.requests.every(({ head: asked }) => !/\r\ntrailer:/i.test(asked)));
});

test("trailers after an extended CONNECT end only the client's side", async () => {
  using upstream = await UpstreamFixture.serving(() => null);
  using proxy = await ProxyFixture.before(upstream);
  for (const trailers of [[['x-t', '1']], [['content-length', '5']], [['trailer', 'a']]] as const) {
    using client = await Frames.plain(proxy.port);
    client.greet().request(1, SOCKET, 0);
    client.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, block(trailers));
    await client.answered();
    client.socket.destroy();
  }
  await eventually('nothing to be left', () => proxy.ledger.inFlight.total() === 0);
  nothingThrown(proxy);
});

const INTERIM = 'HTTP/1.1 199 Odd\r\n\r\n';
/** A head that we refuse: it gets a response of ours, and nothing after it gets one. */
const MALFORMED = 'HTTP/1.1 199 Odd\r\nTransfer-Encoding: gzip, chunked\r\n\r\n';
const AGREED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
const PARTIAL = 'HTTP/1.1 206 Partial Content\r\nContent-Length: 2\r\n\r\nhi';
const ANSWERS: readonly [sent: string, statuses: readonly number[]][] = [
  [`${INTERIM}${PARTIAL}`, [199, 501]],
  [`${MALFORMED}${PARTIAL}`, [502]],
  [`${MALFORMED}${AGREED}`, [502]],
  [`${INTERIM.repeat(40)}${PARTIAL}`, [...Array.from({ length: 32 }, () => 199), 502]],
  [`${INTERIM.repeat(40)}${AGREED}`, [...Array.from({ length: 32 }, () => 199), 502]],
  [`${PARTIAL}${AGREED}`, [501]],
  ['HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n', [502]],
  ['HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc', [501]],
  ['HTTP/1.1 403 Forbidden\r\nTrailer: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n', [403]],
];

test('a WebSocket request gets one final response, regardless of what the upstream sends before and after it', async () => {
  for (const [sent, statuses] of ANSWERS) {
    using upstream = await UpstreamFixture.serving(sent);
    using proxy = await ProxyFixture.before(upstream);
    using client = await Frames.plain(proxy.port);
    client.greet().request(1, SOCKET, 0);
    await client.until(`the end of the answer to ${sent.slice(0, 200)}`, () =>
      [FRAME.headers, FRAME.data].some((type) => client.of(1, type).some(({ flags }) => (flags & FLAG.endStream) !== 0)),
    );
    assert.equal(client.of(1, FRAME.headers).length, statuses.length, sent.slice(0, 60));
    assert.equal(client.status(1), statuses[0], sent.slice(0, 60));
    // The same over HTTP/1.1: no other response follows one of ours on the connection.
    const wire = await proxy.connect();
    wire.send(`${UPGRADE}\r\n`);
    const heads = (await wire.readAll()).match(/^HTTP\/1\.1 \d+/gm) ?? [];
    assert.equal(heads.length, statuses.length, heads.join());
    await eventually('nothing to be left', () => proxy.ledger.inFlight.total() === 0);
    nothingThrown(proxy);
  }
});

test('a response to an ordinary request may have connection-specific fields', async () => {
  const sent = ok(
    'hello',
    'Connection: close, x\r\nKeep-Alive: timeout=5\r\nUpgrade: h2c\r\nTE: gzip\r\nProxy-Connection: close\r\nHTTP2-Settings: x\r\nX: y\r\nTrailer: a\r\n',
  );
  using upstream = await UpstreamFixture.serving(sent);
  using proxy = await ProxyFixture.before(upstream);
  using client = await Frames.plain(proxy.port);
  client.greet().request(1);
  await client.until('the end', () => client.of(1, FRAME.data).some(({ flags }) => (flags & FLAG.endStream) !== 0));
  assert.equal(client.status(1), 200);
  nothingThrown(proxy);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import { cachingProxy } from '../../testing/proxy/caching-proxy.ts';
import { eventually, get, site } from '../../testing/proxy/test-proxy.ts';
import { stillness } from '../../testing/stillness.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

/** Larger than what the cache stores, and than all buffers between upstream and client. */
const BODY = Buffer.alloc(60_000_000, '0123456789');

test('a client that does not read keeps no other waiting for a response that is too large to be stored once it has left', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} });
  const asked = request({ host: '127.0.0.1', port: proxy.port, headers: { host: 'a.test' }, agent: false }).end();
  const { wire } = await upstream.nextRequest();
  const still = await proxy.connect();
  still.send(get());
  await eventually('both to be under way', () => proxy.ledger.inFlight.total() === 2);
  still.socket.pause();
  wire.send(`HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n`);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const read = response.toArray();
  wire.send(BODY);
  wire.send('\r\n0\r\n\r\n');
  await stillness('the upstream to be paused', () => wire.socket.bytesWritten - wire.socket.writableLength);
  assert.ok(wire.socket.writableLength > 0, 'the upstream waits for the one that does not read');
  still.reset();
  assert.ok(Buffer.concat(await read).equals(BODY));
});

test('a client that reads slowly gets the whole response, also if it is too large to be stored', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} });
  const asked = request({ host: '127.0.0.1', port: proxy.port, headers: { host: 'a.test' }, agent: false }).end();
  const { wire } = await upstream.nextRequest();
  wire.send(`HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n`);
  // Nothing reads it yet.
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  wire.send(BODY);
  wire.send('\r\n0\r\n\r\n');
  await stillness('the upstream to be paused', () => wire.socket.bytesWritten - wire.socket.writableLength);
  assert.ok(wire.socket.writableLength > 0, 'the upstream waits for the client');
  assert.ok(Buffer.concat(await response.toArray()).equals(BODY));
});

for (const [framing, begin, end] of [
  ['of known length', `Content-Length: ${BODY.length}\r\n\r\n`, ''],
  ['of unknown length', `Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n`, '\r\n0\r\n\r\n'],
] as const)
  test(`a response ${framing} that will be stored is received no faster than one of its clients reads it`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} }, { cacheSize: 11 * BODY.length });
    const still = await proxy.connect();
    still.socket.pause();
    still.send(get());
    const { wire } = await upstream.nextRequest();
    wire.send(`HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n${begin}`);
    wire.send(BODY);
    wire.send(end);
    await stillness('the upstream to be paused', () => wire.socket.bytesWritten - wire.socket.writableLength);
    assert.ok(wire.socket.writableLength > 0, 'the upstream waits for the only client');
    const read = async () => {
      const asked = request({ host: '127.0.0.1', port: proxy.port, headers: { host: 'a.test' }, agent: false }).end();
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      assert.ok(Buffer.concat(await response.toArray()).equals(BODY));
      return `${response.headers['cache-status']}`;
    };
    assert.match(await read(), /; collapsed$/);
    assert.match(await read(), /; hit; /);
    still.socket.resume();
    assert.ok(Buffer.from((await still.readAnswer()).body, 'latin1').equals(BODY));
    assert.equal(upstream.connections.length, 1);
  });

test('clients that do not read large responses keep no other from being stored, nor what is stored from being refreshed', async () => {
  using upstream = await UpstreamFixture.serving(({ line }) =>
    ok('x'.repeat(Number(/\d+/.exec(line)?.[0])), 'Cache-Control: max-age=60\r\nCache-Tag: t\r\n'),
  );
  using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} }, { cacheSize: 100_000_000 });
  const statusOf = async (path: string): Promise<string> =>
    /cache-status: .*?; (.*)/i.exec((await proxy.request(get(path))).head)?.[1] ?? '';
  assert.match(await statusOf('/150000'), /stored$/);
  // Nearly a quarter of the cache is reserved for them, the most that responses may take while they are received.
  for (const size of [9_000_000, 9_100_000, 6_800_000]) {
    const still = await proxy.connect();
    still.socket.pause();
    still.send(get(`/${size}`));
    await eventually('the request', () => upstream.requests.some(({ line }) => line.includes(`/${size}`)));
  }
  await stillness('the upstream to be paused', () => upstream.connections.reduce((bytes, { socket }) => bytes + socket.bytesWritten, 0));
  assert.match(await statusOf('/150001'), /stored$/);
  assert.match(await statusOf('/150001'), /^hit/);
  proxy.clock.pass(61_000);
  assert.match(await statusOf('/150000'), /stored$/);
  assert.match(await statusOf('/150000'), /^hit/);
});

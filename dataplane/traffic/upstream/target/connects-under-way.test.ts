import assert from 'node:assert/strict';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { CertificatesFixture } from '../../testing/certificates.ts';
import { CODE, FLAG, FRAME, Frames } from '../../testing/http2/frames.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../../testing/test-upstream.ts';

/** The maximum number of connections to one target that may be connecting. */
const MAX_CONNECTING = 64;

/** Over TLS a connection is established once the handshake is complete, which this target never answers. */
const neverEstablished = (target: { readonly address: string }, more: Partial<RouteInput> = {}): RouteInput => ({
  ...site('a.test', target),
  tls: true,
  ...more,
});

async function http2(proxy: ProxyFixture): Promise<Frames> {
  const client = (await Frames.plain(proxy.port)).greet();
  await client.answered();
  return client;
}

/** Sends a request and cancels it once it is under way. */
async function cancelRequest(client: Frames, stream: number, proxy: ProxyFixture): Promise<void> {
  client.request(stream);
  await eventually('the request', () => proxy.ledger.inFlight.total() === 1);
  const code = Buffer.alloc(4);
  code.writeUInt32BE(CODE.cancel);
  client.send(FRAME.reset, 0, stream, code);
  await eventually('its end', () => proxy.ledger.inFlight.total() === 0);
}

test('consecutive cancelled requests share the connection that is being opened', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([neverEstablished(upstream)]);
  const client = await http2(proxy);
  for (let nth = 0; nth < 50; nth++) await cancelRequest(client, 1 + 2 * nth, proxy);
  await upstream.accept();
  assert.equal(upstream.connections.length, 1);
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 0, 0, 0, 0, 50]);
  client.socket.destroy();
});

test('the next request takes over the connection of a cancelled one', async () => {
  const certificates = new CertificatesFixture();
  const secure = createSecureServer(certificates.issue('a.test'), (_, response) => void response.end('x'));
  const sockets: Socket[] = [];
  const server = createServer({ pauseOnConnect: true }, (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const transport = { ca: certificates.ca, server_name: 'a.test' };
  using proxy = await ProxyFixture.start([neverEstablished({ address }, { transport })]);
  const gone = await proxy.connect();
  gone.send(get());
  await eventually('the connection', () => sockets.length === 1);
  gone.reset();
  await eventually('it to be cancelled', () => proxy.ledger.inFlight.total() === 0);
  const client = await proxy.connect();
  client.send(get());
  await eventually('the request', () => proxy.ledger.inFlight.total() === 1);
  secure.emit('connection', sockets[0]);
  sockets[0]?.resume();
  assert.equal((await client.readAnswer()).body, 'x');
  assert.equal((await proxy.request(get())).body, 'x');
  assert.equal(sockets.length, 1);
  server.close();
  for (const socket of sockets) socket.destroy();
});

test('at most 64 connections to a target are opened at a time, and other requests wait for the same result', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([neverEstablished(upstream), { ...site('b.test', upstream), tls: false }]);
  const clients = await Promise.all(Array.from({ length: 3 }, () => http2(proxy)));
  for (const client of clients) for (let nth = 0; nth < 50; nth++) client.request(1 + 2 * nth);
  await eventually('all to be connecting', () => proxy.ledger.inFlight.total() === 150 && upstream.connections.length >= MAX_CONNECTING);
  assert.equal(upstream.connections.length, MAX_CONNECTING);
  // None was established, so the queued requests get the same failure, and no further connections are opened.
  for (let half = 0; half < 12; half++) proxy.clock.pass(500);
  for (const client of clients)
    await client.until('504s', () => client.received.filter(({ type }) => type === FRAME.headers).length === 50);
  assert.equal(proxy.counted().get('a.test')?.classes[4], 150);
  assert.equal(upstream.connections.length, MAX_CONNECTING);
  for (const client of clients) client.socket.destroy();
});

test('many concurrent requests are all answered if the target accepts their connections', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const clients = await Promise.all(Array.from({ length: 10 }, () => http2(proxy)));
  for (const client of clients) for (let nth = 0; nth < 100; nth++) client.request(1 + 2 * nth);
  for (const client of clients)
    await client.until(
      'the answers',
      () => client.received.filter(({ type, flags }) => type === FRAME.data && (flags & FLAG.endStream) > 0).length === 100,
    );
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 1_000, 0, 0, 0, 0]);
  for (const client of clients) client.socket.destroy();
});

test('requests queued behind a target that refuses are retried on the next one', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before({ address: await refusingAddress() }, upstream);
  const client = await http2(proxy);
  for (let nth = 0; nth < 100; nth++) client.request(1 + 2 * nth);
  await client.until('the answers', () => client.received.filter(({ type }) => type === FRAME.headers).length === 100);
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 100, 0, 0, 0, 0]);
  client.socket.destroy();
});

test('a connection that no request claims any more ends with its time limit', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([neverEstablished(upstream)]);
  const gone = await proxy.connect();
  gone.send(get());
  const wire = await upstream.accept();
  gone.reset();
  await eventually('it to be cancelled', () => proxy.ledger.inFlight.total() === 0);
  assert.equal(wire.closed, false);
  for (let half = 0; half < 12; half++) proxy.clock.pass(500);
  await wire.until('its end', () => wire.ended || wire.closed);
  await eventually('no connection to be open', () => proxy.ledger.connections.sockets() === 0);
  assert.deepEqual(proxy.targetChanges(), []);
});

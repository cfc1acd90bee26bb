import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { Wire } from '../testing/wire.ts';

const HANDSHAKE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const AGREED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

/** A port that is not in use right now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The worker's last report about the ports that it should open. */
const refused = (proxy: ProxyFixture) =>
  proxy.messages.flatMap((message) => (message.kind === 'acknowledged' && message.refused !== undefined ? [message.refused] : [])).at(-1);

test('a changed port is closed once the new one is open, and its connections continue', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([site('a.test', upstream)]);
  const before = proxy.port;
  const [download, tunnel] = [await proxy.connect(), await proxy.connect()];
  download.send(get('/download'));
  const first = await upstream.nextRequest();
  first.wire.send('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc');
  await download.readThrough('abc');
  tunnel.send(get('/tunnel', HANDSHAKE));
  const second = await upstream.nextRequest();
  second.wire.send(AGREED);
  await tunnel.readThrough('\r\n\r\n');

  const httpPort = await freePort();
  await proxy.configure({ httpPort });
  assert.deepEqual([proxy.port, refused(proxy)], [httpPort, null]);
  await assert.rejects(Wire.to(before), /ECONNREFUSED/);
  for (let seconds = 0; seconds < 50; seconds++) proxy.clock.pass(1_000);

  first.wire.send('def');
  assert.equal(await download.readThrough('def'), 'def');
  second.wire.send('hello');
  assert.equal(await tunnel.readThrough('hello'), 'hello');
  tunnel.send('world');
  assert.equal(await second.wire.readThrough('world'), 'world');
  const later = await proxy.connect();
  later.send(get('/later'));
  await first.wire.readRequest();
  first.wire.send(ok('new'));
  assert.equal((await later.readAnswer()).body, 'new');
});

test('a connection that waits to be accepted at an old place is served', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const httpPort = await freePort();
  const arriving = Wire.to(proxy.port);
  // The system establishes the connection, and nobody accepts it before this turn ends.
  await new Promise((resolve) => process.nextTick(resolve));
  const moved = proxy.configure({ httpPort });
  const client = await arriving;
  client.send(get());
  assert.equal((await client.readAnswer()).body, 'x');
  client.end();
  await moved;
});

test('the HTTP port is not reopened when only the HTTPS port changes', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.with([site('a.test', upstream)], { httpsPort: 0 });
  const { port, securePort } = proxy;
  const client = await proxy.connect();
  client.send(get());
  assert.equal((await client.readAnswer()).body, 'x');
  const httpsPort = await freePort();
  await proxy.configure({ httpsPort });
  assert.deepEqual([proxy.port, proxy.securePort], [port, httpsPort]);
  await assert.rejects(Wire.to(securePort), /ECONNREFUSED/);
  client.send(get());
  assert.equal((await client.readAnswer()).body, 'x');
  assert.equal((await proxy.request(get())).body, 'x');
});

test("if the new port can't be opened, the worker reports it and keeps listening on the old one", async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const { port } = proxy;
  await proxy.configure({ httpPort: Number(upstream.address.split(':')[1]) });
  assert.equal(refused(proxy)?.code, 'EADDRINUSE');
  assert.equal(proxy.port, port);
  assert.equal((await proxy.request(get())).body, 'x');
  await proxy.configure({});
  assert.deepEqual([proxy.port, refused(proxy)], [port, null]);
});

import assert from 'node:assert/strict';
import { createServer as createSecureServer, type Server } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RouteInput } from '../../../../shared/route.ts';
import { CertificatesFixture } from '../../testing/certificates.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

/** An address at which connections are established when the test says so: over TLS, that is when the handshake is complete. */
async function slowAddress(t: TestContext) {
  const certificates = new CertificatesFixture();
  const received: string[] = [];
  const server: Server = createSecureServer(certificates.issue('a.test'), (request, response) => {
    received.push(request.url ?? '');
    response.end('another');
  });
  server.on('upgrade', (request, socket) => {
    received.push(request.url ?? '');
    socket.destroy();
  });
  const sockets: Socket[] = [];
  const listener = createServer({ pauseOnConnect: true }, (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    listener.close();
    for (const socket of sockets) socket.destroy();
  });
  const establish = () => {
    for (const socket of sockets) {
      server.emit('connection', socket);
      socket.resume();
    }
  };
  const address = `127.0.0.1:${(listener.address() as AddressInfo).port}`;
  return { address, transport: { ca: certificates.ca, server_name: 'a.test' }, sockets, received, establish };
}

const UPGRADE = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

for (const [what, text] of [
  ['request', get()],
  ['request to upgrade', UPGRADE],
] as const)
  test(`a ${what} is not sent over a connection that is established when its target is gone, as its address may be another's`, async (t) => {
    const slow = await slowAddress(t);
    const route = (upstreams: RouteInput['upstreams']): RouteInput => ({
      ...site('a.test'),
      tls: true,
      transport: slow.transport,
      upstreams: upstreams ?? [],
    });
    using proxy = await ProxyFixture.start([route([{ address: slow.address, id: 'one' }])]);
    const client = await proxy.connect();
    client.send(text);
    await eventually('the connection', () => slow.sockets.length === 1);
    await proxy.publish([route([])]);
    slow.establish();
    assert.match((await client.readAnswer()).head, /^HTTP\/1.1 503 /);
    assert.deepEqual(slow.received, []);
  });

test('it is sent to the address that the target has by then', async (t) => {
  const slow = await slowAddress(t);
  using next = await UpstreamFixture.serving(ok('the same at its new address'));
  const { transport } = slow;
  using proxy = await ProxyFixture.start([{ ...site('a.test'), tls: true, transport, upstreams: [{ address: slow.address, id: 'one' }] }]);
  const client = await proxy.connect();
  client.send(get());
  await eventually('the connection', () => slow.sockets.length === 1);
  await proxy.publish([{ ...site('a.test'), upstreams: [] }]);
  await proxy.publish([{ ...site('a.test'), upstreams: [{ address: next.address, id: 'one' }] }]);
  slow.establish();
  assert.equal((await client.readAnswer()).body, 'the same at its new address');
  assert.deepEqual(slow.received, []);
});

test('a copy of a request whose connection is established while a large route is replaced reaches its mirror, which stays', async (t) => {
  const slow = await slowAddress(t);
  using upstream = await UpstreamFixture.serving(ok('original'));
  // Enough for many turns of the event loop, in which connections are established.
  const others = Array.from({ length: 5_000 }, (_, nth) => ({ address: `127.0.0.2:${nth + 1}`, id: `other ${nth}`, weight: 0 }));
  const filler = Array.from({ length: 400 }, (_, nth) => ({ path: `/filler/${nth}`, respond: { status: 200, body: '' } }));
  const route = (value: string): RouteInput => ({
    ...site('a.test'),
    headers: [{ name: 'X-Version', value }],
    handles: [
      { path: '/many', upstreams: others },
      {
        path: '/',
        upstreams: [{ address: upstream.address }],
        mirrors: [{ upstreams: [{ address: slow.address, id: 'mirror' }], tls: true, transport: slow.transport }],
      },
      ...filler,
    ],
  });
  using proxy = await ProxyFixture.start([route('one')]);
  await proxy.request(get('/many'));
  assert.equal((await proxy.request(get())).body, 'original');
  await eventually('the connection', () => slow.sockets.length === 1);
  // It is acknowledged as soon as it serves, before the pools of the other one are closed.
  const acknowledged = () => proxy.messages.filter(({ kind }) => kind === 'acknowledged').length;
  const before = acknowledged();
  const published = proxy.publish([route('two')]);
  while (acknowledged() === before) await nextTurn();
  slow.establish();
  await published;
  await eventually('the copy', () => slow.received.length === 1);
  assert.equal(slow.sockets.length, 1);
});

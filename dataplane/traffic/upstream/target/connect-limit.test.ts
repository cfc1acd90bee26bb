import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { eventually, get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../../testing/test-upstream.ts';

const HANDSHAKE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

describe('a connection that is never established', () => {
  // Accepts connections and never answers the TLS handshake.
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
  });
  let address = '';

  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `127.0.0.1:${(server.address() as { port: number }).port}`;
  });
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });

  const over = (target: { readonly id?: string }) =>
    ProxyFixture.start([{ domain: 'a.test', upstream: null, tls: true, upstreams: [{ address, ...target }] }]);

  for (const [what, target, limit] of [
    ['is given up after 1 s if its target has an id', { id: 'one' }, 1_000],
    ['is given up after 5 s if it has none', {}, 5_000],
  ] as const)
    for (const [kind, fields] of [
      ['a request', ''],
      ['a tunnel', HANDSHAKE],
    ] as const)
      test(`${what}: ${kind}`, async () => {
        using proxy = await over(target);
        const before = sockets.length;
        const client = await proxy.connect();
        client.send(get('/', fields));
        await eventually('the connection', () => sockets.length > before);
        proxy.clock.pass(limit - 1);
        assert.deepEqual([client.unread, sockets.at(-1)?.destroyed], ['', false]);
        proxy.clock.pass(1_000);
        assert.match(await client.readHead(), /^HTTP\/1\.1 504 /);
      });

  test('is tried again if the table was changed meanwhile and has no other target', async () => {
    const route = (others: NonNullable<RouteInput['upstreams']>): RouteInput => ({
      domain: 'a.test',
      upstream: null,
      tls: true,
      upstreams: [{ address, id: 'one' }, ...others],
    });
    using proxy = await ProxyFixture.start([route([])]);
    const before = sockets.length;
    const client = await proxy.connect();
    client.send(get());
    await eventually('the connection', () => sockets.length === before + 1);
    await proxy.publish([route([{ address: '127.0.0.1:9', id: 'two', weight: 0 }])]);
    proxy.clock.pass(2_000);
    await eventually('the second connection', () => sockets.length === before + 2);
    assert.equal(client.unread, '');
    proxy.clock.pass(2_000);
    assert.match(await client.readHead(), /^HTTP\/1\.1 504 /);
  });

  for (const [kind, fields] of [
    ['a request', ''],
    ['a tunnel', HANDSHAKE],
  ] as const)
    test(`is not taken for one if its worker was too busy to notice that it was established: ${kind}`, async () => {
      using upstream = await UpstreamFixture.serving('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      const upstreams = [{ address: upstream.address, id: 'one' }];
      using proxy = await ProxyFixture.start([{ domain: 'a.test', upstream: null, tls: false, upstreams }]);
      const client = await proxy.connect();
      // The turn that connects takes so long that the time is over, and timers run before the socket is looked at.
      const busy = () => {
        setTimeout(() => proxy.clock.pass(2_000), 1);
        const until = performance.now() + 5;
        while (performance.now() < until);
      };
      subscribe('net.client.socket', busy);
      try {
        client.send(get('/', fields));
        assert.match(await client.readHead(), /^HTTP\/1\.1 200 /);
      } finally {
        unsubscribe('net.client.socket', busy);
      }
    });
});

import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { eventually, get, ProxyFixture } from '../testing/test-proxy.ts';

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
});

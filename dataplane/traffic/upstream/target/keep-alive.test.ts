import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { createServer as createSecureServer } from 'node:tls';
import { CertificatesFixture } from '../../testing/certificates.ts';
import { probedIn } from '../../testing/probes.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
const EVENTS = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n';

const certificates = new CertificatesFixture();

/** A target that begins a tunnel or an event stream, and then is silent. */
async function silentTarget(secure: boolean) {
  const sockets: Socket[] = [];
  const serve = (socket: Socket): void => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => socket.write(bytes.includes('Upgrade') ? SWITCHING : EVENTS));
  };
  const server = secure ? createSecureServer(certificates.issue('127.0.0.1'), serve) : createServer(serve);
  server.on('connection', (socket: Socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const end = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { address: `127.0.0.1:${port}`, sockets, [Symbol.dispose]: end };
}

for (const [place, secure] of [
  ['a target', false],
  ['a target with TLS', true],
] as const)
  test(`the system asks ${place} that is silent whether it is still there`, { skip: process.platform !== 'linux' }, async () => {
    using target = await silentTarget(secure);
    using proxy = await ProxyFixture.start([{ ...site('a.test', target), ...(secure && { tls: true, transport: { insecure: true } }) }]);
    for (const fields of ['', UPGRADE]) {
      const client = await proxy.connect();
      client.send(get('/', fields));
      await client.readHead();
      const { remotePort, localPort } = target.sockets.at(-1) as Socket;
      await eventually('a probe', () => (probedIn(remotePort, localPort) ?? Number.POSITIVE_INFINITY) <= 30);
    }
  });

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect as connectPlain, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { type ConnectionOptions, connect, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { CertificatesFixture } from '../testing/certificates.ts';
import { eventually } from '../testing/proxy/test-proxy.ts';
import { cut } from './cut.ts';
import { acceptHandles, type TcpHandle, tlsOver } from './node-handle.ts';
import { type HandshakeOwner, ServerTls } from './server-tls.ts';

const PROTOCOLS = Buffer.from('\x02h2\x08http/1.1', 'latin1');

/** A port whose connections are secured without streams. */
class Port implements HandshakeOwner {
  readonly events: string[] = [];
  readonly sockets: Socket[] = [];
  tls: ServerTls | null = null;
  onSecured: (socket: Socket) => void = () => undefined;
  private readonly server = createServer();
  private readonly secure: ReturnType<typeof createTlsServer>;

  private constructor() {
    const authority = new CertificatesFixture();
    this.secure = createTlsServer(authority.issue('a.test'));
  }

  static async open(): Promise<Port> {
    const port = new Port();
    await once(port.server.listen(0, '127.0.0.1'), 'listening');
    assert.equal(
      acceptHandles(port.server, (handle) => port.accept(handle), assert.ifError),
      true,
    );
    return port;
  }

  private accept(handle: TcpHandle): void {
    const tls = tlsOver(handle, this.secure, PROTOCOLS);
    assert.ok(tls !== null);
    this.tls = new ServerTls(tls, this);
    this.tls.begin(Buffer.alloc(0));
  }

  secured({ socket, negotiated }: ServerTls): void {
    this.events.push(`${negotiated.alpnProtocol} ${negotiated.getProtocol()} ${negotiated.isSessionReused()}`);
    this.sockets.push(socket.on('error', ({ message }) => this.events.push(message)).on('close', () => this.events.push('close')));
    this.onSecured(socket);
  }

  failed(reason: string): void {
    this.events.push(reason);
  }

  closed(): void {
    this.events.push('closed');
  }

  onFault(error: unknown): void {
    this.events.push(String(error));
    this.tls?.destroy();
  }

  get number(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** A client whose errors are ignored. */
  connect(options: ConnectionOptions = {}): TLSSocket {
    const all = { host: '127.0.0.1', port: this.number, servername: 'a.test', rejectUnauthorized: false, ...options };
    return connect(all).on('error', () => undefined);
  }

  has(event: string | RegExp): Promise<void> {
    const found = (text: string): boolean => (typeof event === 'string' ? text === event : event.test(text));
    return eventually(`${event} among ${this.events.join()}`, () => this.events.some(found));
  }

  [Symbol.dispose](): void {
    for (const socket of this.sockets) socket.destroy();
    this.tls?.destroy();
    this.server.close();
  }
}

const echo = (socket: Socket): void =>
  void socket
    .on('data', (bytes) => socket.write(bytes))
    .on('end', () => socket.end())
    .resume();

for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`${maxVersion}: a handshake has a stream when it is complete, which reads and writes`, async () => {
    using port = await Port.open();
    port.onSecured = echo;
    const client = port.connect({ maxVersion, ALPNProtocols: ['http/1.1'] });
    client.write('at once');
    const [first] = await once(client, 'data');
    assert.equal(String(first), 'at once');
    assert.deepEqual(port.events, [`http/1.1 ${maxVersion} false`]);
    const [ours] = port.sockets;
    assert.deepEqual(
      [ours?.remoteAddress, ours?.remotePort, ours?.localAddress, ours?.localPort],
      [client.localAddress, client.localPort, client.remoteAddress, client.remotePort],
    );
    const long = 'L'.repeat(3_000_000);
    let read = '';
    client.on('data', (bytes: Buffer) => {
      read += bytes.toString('latin1');
    });
    client.end(long);
    await once(client, 'end');
    assert.equal(read, long);
    await port.has('close');
  });

  test(`${maxVersion}: a session is resumed by its ticket`, async () => {
    using port = await Port.open();
    port.onSecured = (socket) => void socket.end('x');
    const client = port.connect({ maxVersion });
    const session = once(client, 'session');
    await once(client.resume(), 'end');
    const [ticket] = await session;
    const again = port.connect({ maxVersion, session: ticket as Buffer });
    await once(again.resume(), 'end');
    assert.equal(again.isSessionReused(), true);
    const resumed = port.events.filter((event) => event.includes('TLS')).map((event) => event.split(' ').at(-1));
    assert.deepEqual(resumed, ['false', 'true']);
  });

  test(`${maxVersion}: a client without a protocol of ours is refused with an alert, and the connection is closed`, async () => {
    using port = await Port.open();
    const client = port.connect({ maxVersion, ALPNProtocols: ['spdy/1'] });
    const [error] = await once(client, 'error');
    assert.match(String(error), /no application protocol/i);
    await port.has('closed');
    assert.match(port.events.join(), /^.*no application protocol.*,closed$/is);
  });
}

test('what does not belong to TLS ends a handshake', async () => {
  using port = await Port.open();
  const client = connectPlain(port.number, '127.0.0.1').on('error', () => undefined);
  client.resume().write('GET / HTTP/1.1\r\n\r\n');
  await once(client, 'close');
  await port.has('closed');
  assert.equal(port.events.length, 2);
});

test('a client that leaves during its handshake, orderly or not, ends it', async () => {
  for (const leave of [(client: Socket) => client.end(), (client: Socket) => client.resetAndDestroy()]) {
    using port = await Port.open();
    const client = connectPlain(port.number, '127.0.0.1').on('error', () => undefined);
    await once(client, 'connect');
    client.write(Buffer.from([22, 3, 1, 1, 0, 1]));
    await eventually('the handshake', () => port.tls !== null);
    leave(client);
    await port.has('closed');
    assert.deepEqual(port.events, ['closed']);
  }
});

test('a handshake that is given up is closed, once', async () => {
  using port = await Port.open();
  const client = connectPlain(port.number, '127.0.0.1').on('error', () => undefined);
  const closed = once(client, 'close');
  await eventually('the handshake', () => port.tls !== null);
  port.tls?.destroy();
  port.tls?.destroy();
  await closed;
  await port.has('closed');
  assert.deepEqual(port.events, ['closed']);
});

test('an exception of the owner is reported to it, and ends the connection', async () => {
  using port = await Port.open();
  port.onSecured = () => {
    throw new Error('too much');
  };
  const client = port.connect();
  await once(client, 'close');
  await port.has('closed');
  await port.has('close');
  assert.deepEqual(port.events.slice(1), ['Error: too much', 'closed', 'close']);
});

test('a record that can not be read closes the connection', async () => {
  using port = await Port.open();
  const raw = connectPlain(port.number, '127.0.0.1');
  const client = connect({ socket: raw, servername: 'a.test', rejectUnauthorized: false }).on('error', () => undefined);
  port.onSecured = (socket) => void socket.resume();
  await once(client, 'secureConnect');
  await port.has(/TLS/);
  raw.write(Buffer.from([23, 3, 3, 0, 4, 1, 2, 3, 4]));
  await port.has('close');
});

test('a connection that is cut is closed, although its handle knows no reset', async () => {
  using port = await Port.open();
  port.onSecured = (socket) => socket.write('the beginning', () => cut(socket));
  const client = port.connect();
  const [first] = await once(client, 'data');
  assert.equal(String(first), 'the beginning');
  await once(client, 'close');
  await port.has('close');
});

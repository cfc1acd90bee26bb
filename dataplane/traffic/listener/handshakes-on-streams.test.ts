// Runs alone: it keeps its process from finding Node's handles for TLS, for good.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect as connectPlain, createServer, type Server } from 'node:net';
import { after, before, test } from 'node:test';
import { type ConnectionOptions, connect, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { acceptHandles, streamOf, type TcpHandle, tlsOver } from '../io/node-handle.ts';
import { CertificatesFixture } from '../testing/certificates.ts';
import { eventually, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

const VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const;
const LONG = 'L'.repeat(1_000_000);

const authority = new CertificatesFixture();
const { cert, key } = authority.issue('a.test');
let upstream: UpstreamFixture;
let proxy: ProxyFixture;

/** A version of Node in which TLS can't be put above a handle. It is looked up once, when it is first needed. */
function hideTls(): void {
  const load: unknown = Reflect.get(process, 'binding');
  assert.ok(typeof load === 'function');
  Reflect.set(process, 'binding', (name: string) => (name === 'tls_wrap' ? null : Reflect.apply(load, process, [name])));
}

before(async () => {
  hideTls();
  upstream = await UpstreamFixture.serving(ok(LONG));
  proxy = await ProxyFixture.with([site('a.test', upstream)], { httpsPort: 0 });
  await proxy.certify({ domains: ['a.test'], certificate: cert, private_key: key });
});
after(() => {
  proxy[Symbol.dispose]();
  upstream[Symbol.dispose]();
});

/** A client whose handshake is complete. @throws the error that ended it. */
async function shake(more: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: proxy.securePort, servername: 'a.test', ca: authority.ca, ...more });
  await once(socket, 'secureConnect');
  return socket;
}

const requestFor = (end: string): string => `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${LONG.length}\r\n${end}\r\n${LONG}`;

/** Reads complete responses until there are this many. */
async function answers(socket: TLSSocket, count: number): Promise<string> {
  let text = '';
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
  });
  await eventually(`${count} responses`, () => text.split(`\r\n\r\n${LONG}`).length > count);
  return text;
}

const allReleased = (): Promise<void> => eventually('all connections to be released', () => proxy.ledger.connections.open() === 0);

test('a connection that TLS can not be put above stays as it was', async () => {
  const server: Server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { promise: accepted, resolve } = Promise.withResolvers<TcpHandle>();
  assert.equal(acceptHandles(server, resolve, assert.ifError), true);
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const client = connectPlain(address.port, '127.0.0.1');
  const handle = await accepted;
  assert.equal(tlsOver(handle, createTlsServer({ cert, key }), Buffer.alloc(0)), null);
  streamOf(handle, false).end('as before');
  const [text] = await once(client, 'data');
  assert.equal(String(text), 'as before');
  client.destroy();
  server.close();
});

for (const version of VERSIONS) {
  const only = { minVersion: version, maxVersion: version };

  test(`without it, HTTP/1.1 is served with request bodies, kept and closed connections (${version})`, async () => {
    const socket = await shake({ ...only, ALPNProtocols: ['http/1.1'] });
    assert.deepEqual([socket.alpnProtocol, socket.getProtocol()], ['http/1.1', version]);
    const closed = once(socket, 'close');
    const read = answers(socket, 2);
    socket.write(requestFor(''));
    socket.write(requestFor('Connection: close\r\n'));
    assert.match(await read, /^HTTP\/1.1 200 OK\r\n[\s\S]*\r\nConnection: close\r\n/);
    await closed;
    assert.equal(upstream.requests.at(-1)?.body.length, LONG.length);
    assert.match(upstream.requests.at(-1)?.head ?? '', /\r\nX-Forwarded-Proto: https\r\n/);
    await allReleased();
  });

  test(`without it, HTTP/2 is served with several streams at once (${version})`, async () => {
    const session = connectHttp2(`https://a.test:${proxy.securePort}`, { ca: authority.ca, host: '127.0.0.1', ...only });
    await once(session, 'connect');
    assert.equal(session.alpnProtocol, 'h2');
    const bodies = await Promise.all([1, 2, 3].map(() => bodyOver(session)));
    assert.deepEqual(
      bodies.map((body) => body === LONG),
      [true, true, true],
    );
    session.close();
    await allReleased();
  });

  test(`without it, sessions are resumed (${version})`, async () => {
    const first = await shake(only);
    const ticket = new Promise<Buffer>((resolve) => first.once('session', resolve));
    const read = answers(first, 1);
    first.write(requestFor(''));
    await read;
    const session = version === 'TLSv1.2' ? first.getSession() : await ticket;
    first.destroy();
    const again = await shake({ ...only, session });
    assert.equal(again.isSessionReused(), true);
    again.destroy();
    await allReleased();
  });

  test(`without it, a client without a protocol of ours is refused with an alert (${version})`, async () => {
    await assert.rejects(shake({ ...only, ALPNProtocols: ['spdy/1'] }), /no application protocol/i);
    await allReleased();
  });
}

async function bodyOver(session: ClientHttp2Session): Promise<string> {
  const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': 'a.test' });
  let text = '';
  stream.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
  });
  stream.end(LONG);
  await once(stream, 'end');
  return text;
}

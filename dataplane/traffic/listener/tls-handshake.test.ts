import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { CertificatesFixture } from '../testing/certificates.ts';
import { eventually, ProxyFixture, site, whenRead } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { Wire } from '../testing/wire.ts';
import type { PublishedCertificate } from './certificates.ts';

const authority = new CertificatesFixture();

function certificate(...domains: string[]): PublishedCertificate {
  const { cert, key } = authority.issue(...domains);
  return { domains, certificate: cert, private_key: key };
}

const secureProxy = (upstream: UpstreamFixture, ...names: string[]) =>
  ProxyFixture.with(
    names.map((name) => site(name, upstream)),
    { httpsPort: 0 },
  );

/** A proxy that orders certificates itself. */
const orderingProxy = (upstream: UpstreamFixture, name = 'a.test') =>
  ProxyFixture.with([site(name, upstream)], {
    httpsPort: 0,
    https: { automatic: true, anyName: true, dns: true, internal: false, local: false, publicPort: 443 },
  });

/** A client whose handshake is complete. @throws the error that ended it. */
function shake(proxy: ProxyFixture, servername: string | null, more: ConnectionOptions = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: '127.0.0.1',
      port: proxy.securePort,
      ca: authority.ca,
      ...(servername !== null && { servername }),
      ...more,
    });
    socket.once('secureConnect', () => resolve(socket)).on('error', reject);
  });
}

/** A connection whose first message arrives in pieces of so many bytes. */
async function inPieces(port: number, size: number): Promise<Duplex> {
  const { socket } = await Wire.to(port);
  let first = true;
  const write = async (message: Buffer): Promise<void> => {
    if (!first) return void socket.write(message);
    first = false;
    for (let at = 0; at < message.length; at += size) {
      socket.write(message.subarray(at, at + size));
      for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const stream = new Duplex({
    read: () => undefined,
    write: (message: Buffer, _, done) => void write(message).then(() => done(), done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (bytes: Buffer) => stream.push(bytes));
  socket.on('close', () => stream.destroy());
  return stream;
}

async function sendRequest(socket: TLSSocket, host: string): Promise<string> {
  let answer = '';
  socket.on('data', (chunk: Buffer) => {
    answer += chunk.toString('latin1');
  });
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await eventually('an answer', () => answer.includes('\r\n\r\n'));
  return answer;
}

describe('a connection over TLS', () => {
  const a = certificate('a.test');
  const b = certificate('b.test', '*.b.test');
  let upstream: UpstreamFixture;
  let proxy: ProxyFixture;

  before(async () => {
    upstream = await UpstreamFixture.serving(ok('x'));
    proxy = await secureProxy(upstream, 'a.test', 'b.test', '*.b.test', '127.0.0.1');
    await proxy.certify(a, b);
  });
  after(() => {
    proxy[Symbol.dispose]();
    upstream[Symbol.dispose]();
  });

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    test(`is served with the certificate of its name (${version})`, async () => {
      for (const name of ['a.test', 'b.test', 'www.b.test']) {
        const client = await shake(proxy, name, { minVersion: version, maxVersion: version, ALPNProtocols: ['http/1.1'] });
        assert.equal(client.getProtocol(), version);
        assert.equal(client.alpnProtocol, 'http/1.1');
        const answer = await sendRequest(client, name);
        assert.match(answer, /^HTTP\/1.1 200 OK\r\n/);
        assert.match(answer, /\r\nStrict-Transport-Security: max-age=31536000\r\n/);
        client.destroy();
      }
      assert.match(upstream.requests.at(-1)?.head ?? '', /\r\nX-Forwarded-Proto: https\r\n/);
    });
  }

  test('from a client that offers only HTTP/1.0 is completed', async () => {
    const client = await shake(proxy, 'a.test', { ALPNProtocols: ['http/1.0'] });
    assert.equal(client.alpnProtocol, 'http/1.0');
    client.write('GET / HTTP/1.0\r\nHost: a.test\r\n\r\n');
    const pieces: Buffer[] = [];
    for await (const piece of client) pieces.push(piece);
    assert.match(String(Buffer.concat(pieces)), /^HTTP\/1.1 200 OK\r\n(.*\r\n)*\r\nx$/);
  });

  test('for a name without a certificate is refused with unrecognized_name', async () => {
    for (const name of ['c.test', 'a.b.b.test', 'www.a.test']) await assert.rejects(shake(proxy, name), /unrecognized name/i, name);
  });

  test('to an address, without a server name, is refused unless there is a certificate for the address', async () => {
    await assert.rejects(shake(proxy, null), /unrecognized name/i);
    await proxy.certify(certificate('127.0.0.1'));
    const client = await shake(proxy, null);
    assert.match(await sendRequest(client, '127.0.0.1'), /^HTTP\/1.1 200 /);
    client.destroy();
  });

  test('receives 421 for a host that its certificate does not cover', async () => {
    const client = await shake(proxy, 'a.test');
    assert.match(await sendRequest(client, 'b.test'), /^HTTP\/1.1 421 Misdirected Request\r\n/);
    client.destroy();
    const wildcard = await shake(proxy, 'www.b.test');
    assert.match(await sendRequest(wildcard, 'shop.b.test'), /^HTTP\/1.1 200 /);
    wildcard.destroy();
  });

  test("can't be renegotiated", async () => {
    const client = await shake(proxy, 'a.test', { maxVersion: 'TLSv1.2' });
    const again = await new Promise<Error | null>((resolve) => {
      client.once('error', resolve);
      client.renegotiate({ rejectUnauthorized: true }, resolve);
    });
    assert.match(String(again), /no.renegotiation/i);
    client.destroy();
  });

  for (const [size, offers] of [
    [1, 0],
    [5, 4],
  ] as const)
    test(`is served although its ClientHello arrives in pieces of ${size} B`, async () => {
      const ALPNProtocols = ['http/1.1', ...Array.from({ length: offers }, (_, at) => `${at}${'x'.repeat(200)}`)];
      const client = await shake(proxy, 'a.test', { socket: await inPieces(proxy.securePort, size), ALPNProtocols });
      assert.match(await sendRequest(client, 'a.test'), /^HTTP\/1.1 200 OK\r\n/);
      client.destroy();
    });

  test('without TLS receives a hint that the port serves HTTPS', async () => {
    const wire = await Wire.to(proxy.securePort);
    wire.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    const { line, body } = await wire.readAnswer();
    assert.match(line, /^HTTP\/1.1 400 /);
    assert.match(body, /HTTPS/);
    wire.socket.destroy();
  });

  test('that speaks another protocol is closed with an alert', async () => {
    const wire = await Wire.to(proxy.securePort);
    wire.send('\x00\x01\x02');
    await wire.until('an alert', () => wire.unread.startsWith('\x15\x03'));
    await wire.until('the end', () => wire.ended || wire.closed);
    wire.socket.destroy();
  });

  test('is resumed under the same name, and never under another', async () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const only = { minVersion: version, maxVersion: version };
      const first = await shake(proxy, 'a.test', only);
      const session = new Promise<Buffer>((resolve) => first.once('session', resolve));
      await sendRequest(first, 'a.test');
      const ticket = version === 'TLSv1.2' ? (first.getSession() ?? Buffer.alloc(0)) : await session;
      first.destroy();
      const again = await shake(proxy, 'a.test', { ...only, session: ticket });
      assert.equal(again.isSessionReused(), true, version);
      again.destroy();
      const elsewhere = await shake(proxy, 'b.test', { ...only, session: ticket });
      assert.equal(elsewhere.isSessionReused(), false, `${version} elsewhere`);
      assert.equal(elsewhere.getPeerCertificate().subjectaltname, 'DNS:b.test, DNS:*.b.test');
      elsewhere.destroy();
    }
  });

  test('that its client aborts at any stage is released at once', async () => {
    await eventually('the connections of other tests to be closed', () => proxy.ledger.connections.open() === 0);
    for (const leave of [
      (socket: TLSSocket) => socket.destroy(),
      (socket: TLSSocket) => socket.end(),
      (socket: TLSSocket) => setImmediate(() => socket.destroy()),
    ])
      leave(await shake(proxy, 'a.test'));
    await eventually('all to be released', () => proxy.ledger.connections.open() === 0);
  });

  test('that its client resets with the last message of the handshake is released too', async () => {
    await eventually('no connection to be open', () => proxy.ledger.connections.open() === 0);
    const clients = new Worker(new URL('../testing/leaving-clients.ts', import.meta.url), {
      workerData: { port: proxy.securePort, clients: 500 },
    });
    await once(clients, 'exit');
    await eventually('no connection to be open again', () => proxy.ledger.connections.open() === 0);
  });

  test('is counted during the handshake, and not after it failed', async () => {
    await eventually('the connections of other tests to be closed', () => proxy.ledger.connections.open() === 0);
    const wire = await Wire.to(proxy.securePort);
    wire.send('\x16\x03\x01');
    await eventually('the connection to be counted', () => proxy.ledger.connections.open() === 1);
    wire.socket.destroy();
    await eventually('it to be released', () => proxy.ledger.connections.open() === 0);
  });
});

/** The ClientHello of a client that is not connected to anything. */
const helloFor = (servername: string): Promise<Buffer> =>
  new Promise((resolve) => {
    const stream = new Duplex({ read: () => undefined, write: (message: Buffer) => resolve(message) });
    connect({ socket: stream, servername });
  });

test('a request does not wait for a burst of handshakes that began before it', async (t) => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await secureProxy(upstream, 'a.test');
  await proxy.certify(certificate('a.test'));
  const visitor = await shake(proxy, 'a.test', { ALPNProtocols: ['http/1.1'] });
  const hello = await helloFor('a.test');
  const burst = await Promise.all(Array.from({ length: 100 }, () => Wire.to(proxy.securePort)));
  t.after(() => {
    for (const { socket } of [{ socket: visitor }, ...burst]) socket.destroy();
  });
  const request = async (): Promise<void> => {
    visitor.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    await once(visitor, 'data');
  };
  // One of them is accepted in each turn of the event loop; these are 150.
  for (let part = 0; part < 3; part++) await whenRead();
  let greeted = 0;
  for (const { socket } of burst) {
    socket.once('data', () => greeted++);
    socket.write(hello);
  }
  await request();
  const before = greeted;
  assert.ok(before < burst.length / 2, `${before} of ${burst.length} handshakes came first`);
  await eventually('all others', () => greeted === burst.length);
});

test('the time limits do not include the wait behind other handshakes', async (t) => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await secureProxy(upstream, 'a.test');
  await proxy.certify(certificate('a.test'));
  const hello = await helloFor('a.test');
  const burst = await Promise.all(Array.from({ length: 200 }, () => Wire.to(proxy.securePort)));
  t.after(() => {
    for (const { socket } of burst) socket.destroy();
  });
  for (let part = 0; part < 5; part++) await whenRead();
  let greeted = 0;
  for (const { socket } of burst) {
    socket.once('data', () => greeted++);
    socket.write(hello);
  }
  await eventually('the first of them', () => greeted > 0);
  proxy.clock.pass(5_000);
  assert.ok(greeted < burst.length, 'others wait');
  await eventually('all of them', () => greeted === burst.length);
});

test('a ClientHello times out after 5 s, and the rest of a handshake after 10 s', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await secureProxy(upstream, 'a.test');
  const wire = await Wire.to(proxy.securePort);
  wire.send('\x16');
  await eventually('the connection', () => proxy.ledger.connections.open() === 1);
  proxy.clock.pass(4_000);
  assert.equal(wire.closed, false);
  proxy.clock.pass(1_500);
  await wire.until('the end', () => wire.ended || wire.closed);
  wire.socket.destroy();
});

describe('a name whose first certificate is being ordered', () => {
  test('keeps its handshakes waiting until the certificate is ready', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await orderingProxy(upstream);
    const waiting = shake(proxy, 'a.test');
    await eventually('the handshake to wait', () =>
      proxy.log.lines.some(({ message }) => message.includes('waits for the first certificate')),
    );
    await proxy.certify(certificate('a.test'));
    const client = await waiting;
    assert.match(await sendRequest(client, 'a.test'), /^HTTP\/1.1 200 /);
    client.destroy();
  });

  test('refuses its handshakes when the order fails', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await orderingProxy(upstream);
    const waiting = assert.rejects(shake(proxy, 'a.test'), /unrecognized name/i);
    await eventually('the handshake to wait', () =>
      proxy.log.lines.some(({ message }) => message.includes('waits for the first certificate')),
    );
    await proxy.giveUp('a.test');
    await waiting;
  });

  test('refuses the handshakes of all hosts under a wildcard whose order failed', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await orderingProxy(upstream, '*.b.test');
    const waiting = assert.rejects(shake(proxy, 'www.b.test'), /unrecognized name/i);
    await eventually('the handshake to wait', () =>
      proxy.log.lines.some(({ message }) => message.includes('waits for the first certificate')),
    );
    await proxy.giveUp('*.b.test');
    await waiting;
  });

  test('differs from an unrouted name, whose handshake is refused at once', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await orderingProxy(upstream);
    await assert.rejects(shake(proxy, 'b.test'), /unrecognized name/i);
  });

  test('keeps its handshakes waiting for at most 15 s', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await orderingProxy(upstream);
    const waiting = assert.rejects(shake(proxy, 'a.test'), /unrecognized name/i);
    await eventually('the handshake to wait', () =>
      proxy.log.lines.some(({ message }) => message.includes('waits for the first certificate')),
    );
    proxy.clock.pass(16_000);
    await waiting;
  });
});

test('session tickets are accepted by other workers with the same keys, and only by those', async () => {
  const keys = randomBytes(48);
  const shown = certificate('a.test');
  using upstream = await UpstreamFixture.serving(ok('x'));
  using one = await secureProxy(upstream, 'a.test');
  using other = await secureProxy(upstream, 'a.test');
  for (const proxy of [one, other]) {
    await proxy.useTicketKeys(keys);
    await proxy.certify(shown);
  }
  const first = await shake(one, 'a.test');
  const session = new Promise<Buffer>((resolve) => first.once('session', resolve));
  await sendRequest(first, 'a.test');
  const ticket = await session;
  first.destroy();
  const second = await shake(other, 'a.test', { session: ticket });
  assert.equal(second.isSessionReused(), true);
  second.destroy();
  await other.useTicketKeys(randomBytes(48));
  const third = await shake(other, 'a.test', { session: ticket });
  assert.equal(third.isSessionReused(), false);
  third.destroy();
});

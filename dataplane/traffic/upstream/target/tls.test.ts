import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer as createPlainServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { createServer, getCACertificates, setDefaultCACertificates, TLSSocket, type TlsOptions } from 'node:tls';
import { CertificatesFixture } from '../../testing/certificates.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

/** A TLS target that answers every request with the server name it was sent, and records what it receives. */
async function secured(options: TlsOptions) {
  const resumed: boolean[] = [];
  const requests: string[] = [];
  const sockets: TLSSocket[] = [];
  const server = createServer(options, (socket) => {
    sockets.push(socket);
    resumed.push(socket.isSessionReused());
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      requests.push(bytes.toString('latin1'));
      socket.write(ok(String(socket.servername)));
    });
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const end = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { port, address: `127.0.0.1:${port}`, resumed, requests, sockets, [Symbol.dispose]: end };
}

/** A TLS connection that sends each of these texts in a record of its own, all in one segment. */
class Records {
  readonly socket: TLSSocket;
  private readonly raw: Socket;
  private gathered: Buffer[] | null = null;

  constructor(raw: Socket, options: TlsOptions) {
    this.raw = raw;
    const write = (record: Buffer, _: string, done: () => void): void => {
      if (this.gathered === null) raw.write(record);
      else this.gathered.push(record);
      done();
    };
    const stream = new Duplex({ read: () => undefined, write });
    raw.on('data', (bytes: Buffer) => stream.push(bytes));
    raw.on('error', () => undefined);
    this.socket = new TLSSocket(stream, { ...options, isServer: true });
    this.socket.on('error', () => undefined);
  }

  async send(...texts: readonly string[]): Promise<void> {
    this.gathered = [];
    for (const text of texts) await new Promise((resolve) => this.socket.write(text, resolve));
    assert.equal(this.gathered.length, texts.length);
    this.raw.write(Buffer.concat(this.gathered));
    this.gathered = null;
  }

  /** Sends a last text, and with it the end of the connection. */
  async end(text: string): Promise<void> {
    this.gathered = [];
    await new Promise<void>((resolve) => this.socket.end(text, resolve));
    this.raw.end(Buffer.concat(this.gathered));
    this.gathered = null;
  }
}

const over = (address: string) => ProxyFixture.start([{ ...site('a.test', { address }), tls: true }]);
const failures = (proxy: ProxyFixture) =>
  proxy.log.lines.flatMap(({ fields }) => ('failure' in fields ? [(fields as { failure: string }).failure] : []));

describe('a target with tls', () => {
  const certificates = new CertificatesFixture();
  const trusted = getCACertificates('default');
  before(() => setDefaultCACertificates([...trusted, certificates.ca]));
  after(() => setDefaultCACertificates(trusted));

  test('is verified for the domain of the route if it is an IP address', async () => {
    using target = await secured(certificates.issue('a.test'));
    using proxy = await over(target.address);
    assert.equal((await proxy.request(get())).body, 'a.test');
  });

  test('is verified for its own name if it has one', async () => {
    using target = await secured(certificates.issue('localhost'));
    using proxy = await over(`localhost:${target.port}`);
    assert.equal((await proxy.request(get())).body, 'localhost');
  });

  for (const [what, pair] of [
    ['for another name', certificates.issue('b.test')],
    ['that has expired', certificates.issueExpired('a.test')],
    ['that is self-signed', certificates.selfSigned('a.test')],
  ] as const)
    test(`causes a 502 with a certificate ${what}, and receives no byte of the request`, async () => {
      using target = await secured(pair);
      using proxy = await over(target.address);
      const answer = await proxy.request(get());
      assert.match(answer.line, / 502 /);
      assert.deepEqual(failures(proxy), ['tls']);
      assert.deepEqual(target.requests, []);
      assert.doesNotMatch(answer.head + answer.body, /127\.0\.0\.1/);
    });

  test('is read to the end before its connection is used again, so that what follows a response answers no other request', async () => {
    const connections: Socket[] = [];
    const server = createPlainServer((raw) => {
      connections.push(raw);
      const records = new Records(raw, certificates.issue('a.test'));
      records.socket.on('data', (bytes) => {
        if (bytes.toString('latin1').startsWith('HEAD')) void records.send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', ok('more'));
        else void records.send(ok('own'));
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    using proxy = await ProxyFixture.with([{ ...site('a.test', { address }), tls: true }], {}, { maxPerTarget: 1 });
    const [client, other] = [await proxy.connect(), await proxy.connect()];
    client.send(get().replace('GET', 'HEAD'));
    other.send(get());
    assert.match((await client.readAnswer('HEAD')).line, / 200 /);
    assert.equal((await other.readAnswer()).body, 'own');
    assert.equal((await proxy.request(get())).body, 'own');
    assert.equal(connections.length, 2);
    server.close();
    for (const raw of connections) raw.destroy();
  });

  test('that closes a connection with its response has not closed it for being idle', async () => {
    const texts: string[] = [];
    const connections: Socket[] = [];
    const server = createPlainServer((raw) => {
      connections.push(raw);
      const records = new Records(raw, certificates.issue('a.test'));
      records.socket.on('data', () => void (texts.push('') === 2 ? records.end(ok('last')) : records.send(ok('own'))));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    using proxy = await over(`127.0.0.1:${(server.address() as AddressInfo).port}`);
    for (const body of ['own', 'last', 'own', 'own']) {
      assert.equal((await proxy.request(get())).body, body);
      await new Promise(setImmediate);
      proxy.clock.pass(1_500);
    }
    assert.equal(connections.length, 2);
    server.close();
    for (const raw of connections) raw.destroy();
  });

  test('may end its connection without close_notify, which only cuts off a response that announces more', async (t) => {
    const connections: Socket[] = [];
    const server = createPlainServer((raw) => {
      connections.push(raw);
      const records = new Records(raw, certificates.issue('a.test'));
      records.socket.on('data', (bytes) => {
        const framing = /GET \/(\S*)/.exec(bytes.toString('latin1'))?.[1] ?? '';
        records.socket.write(`HTTP/1.1 200 OK\r\n${decodeURIComponent(framing)}\r\n5\r\nhello\r\n`, () => raw.end());
      });
    });
    t.after(() => {
      server.close();
      for (const raw of connections) raw.destroy();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    using proxy = await over(`127.0.0.1:${(server.address() as AddressInfo).port}`);
    for (const [framing, isWhole] of [
      ['', true],
      ['Content-Length: 100\r\n', false],
      ['Transfer-Encoding: chunked\r\n', false],
    ] as const) {
      const wire = await proxy.connect();
      wire.send(get(`/${encodeURIComponent(framing)}`));
      const isOver = () => wire.closed || wire.ended || wire.unread.endsWith('\r\n0\r\n\r\n') || /^HTTP\/1.1 50/.test(wire.unread);
      await wire.until('the result', isOver);
      assert.match(wire.unread, /hello\r\n/, failures(proxy).join());
      assert.equal(wire.unread.endsWith('\r\n0\r\n\r\n'), isWhole);
    }
  });

  test('gets no more connections than requests at once, also for requests that wait', async () => {
    using target = await secured(certificates.issue('a.test'));
    using proxy = await ProxyFixture.start([
      { ...site('a.test', target), tls: true, max_in_flight: { requests: 1, queue: 10, queue_secs: 10 } },
    ]);
    const clients = await Promise.all(Array.from({ length: 5 }, () => proxy.connect()));
    for (const client of clients) client.send(get());
    for (const client of clients) assert.equal((await client.readAnswer()).body, 'a.test');
    assert.equal(target.sockets.length, 1);
  });

  test('causes a 502 if it does not speak TLS', async () => {
    using target = await UpstreamFixture.start();
    using proxy = await over(target.address);
    const client = await proxy.connect();
    client.send(get());
    (await target.accept()).send('HTTP/1.1 400 Bad Request\r\n\r\n');
    assert.match((await client.readAnswer()).line, / 502 /);
    assert.deepEqual(failures(proxy), ['tls']);
  });

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
    test(`resumes its session on the next connection (${version})`, async () => {
      using target = await secured({ ...certificates.issue('a.test'), minVersion: version, maxVersion: version });
      using proxy = await over(target.address);
      assert.match((await proxy.request(get())).line, / 200 /);
      target.sockets[0]?.end();
      await eventually('the connection to be closed', () => target.sockets[0]?.destroyed === true);
      assert.match((await proxy.request(get())).line, / 200 /);
      assert.deepEqual(target.resumed, [false, true]);
    });

  test('never resumes a session of another name', async () => {
    using target = await secured(certificates.issue('a.test'));
    using proxy = await ProxyFixture.start(['a.test', 'b.test'].map((domain) => ({ ...site(domain, target), tls: true })));
    assert.equal((await proxy.request(get())).body, 'a.test');
    assert.match((await proxy.request(get().replace('a.test', 'b.test'))).line, / 502 /);
    assert.deepEqual(failures(proxy), ['tls']);
  });
});

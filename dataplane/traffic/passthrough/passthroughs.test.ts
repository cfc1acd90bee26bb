import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createConnection, createServer as createTcpServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { type MadePair, makePair } from '../../../shared/certificates/testing/pairs.ts';
import type { RouteInput } from '../../../shared/route.ts';
import type { Cidr } from '../../../shared/values/cidr.ts';
import { eventually, failedAt, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { refusingAddress } from '../testing/test-upstream.ts';

type PassthroughInput = NonNullable<RouteInput['tls_passthrough']>[number];

/** A TLS server with a different certificate than the proxy, which sends its name and echoes. */
class Target {
  readonly address: string;
  readonly sockets: TLSSocket[] = [];
  private constructor(address: string) {
    this.address = address;
  }

  static async start(name: string, pair: MadePair, onTls?: (socket: TLSSocket) => void): Promise<Target> {
    const server = createServer({ cert: pair.certificate, key: pair.privateKey, allowHalfOpen: true, ALPNProtocols: ['acme-tls/1', 'h2'] });
    server.on('tlsClientError', () => undefined);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const target = new Target(`127.0.0.1:${address.port}`);
    server.on('secureConnection', (socket) => {
      target.sockets.push(socket);
      socket.on('error', () => undefined);
      if (onTls !== undefined) return onTls(socket);
      socket.write(`${name}:`);
      socket.pipe(socket);
    });
    after(() => {
      server.close();
      for (const socket of target.sockets) socket.destroy();
    });
    return target;
  }
}

/** A client's connection and all that it has received. */
class Client {
  readonly socket: TLSSocket;
  received = '';
  failure = '';
  constructor(port: number, servername: string | undefined, ALPNProtocols: string[] = [], host = '127.0.0.1') {
    const options = { host, port, rejectUnauthorized: false, allowHalfOpen: true, ALPNProtocols };
    this.socket = connect({ ...options, ...(servername !== undefined && { servername }) });
    this.socket.setEncoding('latin1').on('data', (text: string) => {
      this.received += text;
    });
    this.socket.on('error', (error: NodeJS.ErrnoException) => {
      this.failure = error.code ?? error.message;
    });
    after(() => this.socket.destroy());
  }

  async read(text: string): Promise<void> {
    await eventually(`"${text}" instead of "${this.received}" ${this.failure}`, () => this.received === text);
  }
}

const passing = (domain: string, passthrough: Omit<PassthroughInput, 'upstreams'>, ...addresses: string[]): RouteInput => ({
  domain,
  upstream: null,
  tls: false,
  tls_passthrough: [{ ...passthrough, upstreams: addresses.map((address) => ({ address })) }],
});
const passedCounts = (proxy: ProxyFixture): Record<string, number> => {
  proxy.collect(0);
  const counts: Record<string, number> = {};
  for (const message of proxy.messages)
    if (message.kind === 'report')
      for (const { passed, pattern } of message.report.domains)
        for (const [result, count] of passed?.results ?? []) counts[`${pattern} ${result}`] = (counts[`${pattern} ${result}`] ?? 0) + count;
  return counts;
};

test('a connection goes to the target of the host that its ClientHello names, whose certificate the client sees', async () => {
  const pair = await makePair(['a.test']);
  const target = await Target.start('a', pair);
  const deep = await Target.start('deep', await makePair(['*.b.test']));
  using proxy = await ProxyFixture.with(
    [passing('a.test', {}, target.address), { ...passing('*.b.test', {}, deep.address), wildcard: 'many' }],
    { httpsPort: 0 },
  );
  const client = new Client(proxy.securePort, 'a.test');
  client.socket.write('hello');
  await client.read('a:hello');
  assert.equal(client.socket.getPeerX509Certificate()?.toString().trim(), pair.certificate.trim());
  await new Client(proxy.securePort, 'x.y.b.test').read('deep:');
  const unknown = new Client(proxy.securePort, 'c.test');
  await eventually('the alert', () => unknown.failure !== '');
  assert.match(unknown.failure, /UNRECOGNIZED_NAME/);
  assert.deepEqual(passedCounts(proxy), { 'a.test passed': 1, '*.b.test passed': 1 });
});

const OWN = ['www.test', '*.www.test'];

/** A proxy where TLS ends for `www.test` and the hosts below it, except for these routes. */
async function besideOwnSites(routes: readonly RouteInput[]): Promise<ProxyFixture> {
  const { certificate, privateKey } = await makePair(OWN);
  const own = OWN.map((domain) => ({ ...site(domain), respond: { status: 200, body: 'served' } }));
  const proxy = await ProxyFixture.with([...own, ...routes], { httpsPort: 0 });
  await proxy.certify({ domains: OWN, certificate, private_key: privateKey });
  return proxy;
}

test('the most specific host decides, and the port, whether TLS ends here', async () => {
  const target = await Target.start('target', await makePair(['x.test']));
  using proxy = await besideOwnSites([passing('db.www.test', {}, target.address), passing('*', { ports: [1] }, target.address)]);
  await new Client(proxy.securePort, 'db.www.test').read('target:');
  const served = new Client(proxy.securePort, 'www.test');
  served.socket.write(get().replace('a.test', 'www.test'));
  await eventually('the response', () => served.received.endsWith('served'));
  const elsewhere = new Client(proxy.securePort, 'other.test');
  await eventually('the alert', () => elsewhere.failure !== '');
  // Plain HTTP is served by the route that is left for it.
  assert.equal((await proxy.request(get().replace('a.test', 'db.www.test'))).body, 'served');
  assert.match((await proxy.request(get().replace('a.test', 'other.test'))).line, / 404 /);
  assert.equal(proxy.dryRun('https://db.www.test/').verdict, `the TLS connection is passed through to ${target.address}`);
});

test('a request over a connection that ended here gets 421 if those for its host are passed on, and the host is not served by another', async () => {
  const target = await Target.start('target', await makePair(['db.www.test']));
  using proxy = await besideOwnSites([
    passing('db.www.test', {}, target.address),
    { ...passing('both.www.test', {}, target.address), respond: { status: 200, body: 'both' } },
    passing('port.www.test', { ports: [1] }, target.address),
    passing('ip.www.test', { local_ips: ['127.0.0.1'] }, target.address),
    passing('other.www.test', { local_ips: ['127.0.0.2'] }, target.address),
  ]);
  const answer = async (host: string): Promise<string> => {
    const client = new Client(proxy.securePort, 'www.test', ['http/1.1']);
    client.socket.write(get().replace('a.test', host));
    await eventually('the response', () => client.received.includes('\r\n\r\n'));
    return client.received.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
  };
  for (const host of ['www', 'x.www', 'port.www', 'other.www']) assert.equal(await answer(`${host}.test`), '200', host);
  for (const host of ['db.www', 'both.www', 'ip.www']) assert.equal(await answer(`${host}.test`), '421', host);
  assert.equal((await proxy.request(get().replace('a.test', 'both.www.test'))).body, 'both');
  // From before the route passed connections on.
  const early = new Client(proxy.securePort, 'late.www.test', ['http/1.1']);
  early.socket.write(get().replace('a.test', 'late.www.test'));
  await eventually('the response', () => early.received.endsWith('served'));
  await proxy.publish([passing('late.www.test', {}, target.address)]);
  early.socket.write(get().replace('a.test', 'late.www.test'));
  await eventually('the end', () => early.socket.readableEnded);
  assert.match(early.received, /HTTP\/1\.1 421 /);
});

test('a target that refuses is skipped, and without any the connection is closed without an alert', async () => {
  const refusing = await refusingAddress();
  const target = await Target.start('second', await makePair(['a.test']));
  using proxy = await ProxyFixture.with(
    [passing('a.test', {}, refusing, target.address), passing('b.test', {}, refusing), passing('c.test', {})],
    {
      httpsPort: 0,
    },
  );
  await new Client(proxy.securePort, 'a.test').read('second:');
  await failedAt(proxy, refusing);
  for (const host of ['b.test', 'c.test']) {
    const client = new Client(proxy.securePort, host);
    await eventually('the end', () => client.failure !== '');
    assert.equal(client.failure, 'ECONNRESET', 'no alert');
  }
  assert.deepEqual(passedCounts(proxy), { 'a.test passed': 1, 'b.test failed': 1, 'c.test no_target': 1 });
});

test('a connection that comes back is passed on by another entry, but closed by the one that has passed it on before', async () => {
  const target = await Target.start('end', await makePair(['a.test']));
  using proxy = await ProxyFixture.with([], { httpsPort: 0, bind: '0.0.0.0' });
  const entry = (here: string, address: string) => ({ local_ips: [here], upstreams: [{ address }] });
  const own = (ip: string): string => `${ip}:${proxy.securePort}`;
  const route = (domain: string, ...entries: PassthroughInput[]): RouteInput => ({
    ...{ domain, upstream: null, tls: false, tls_passthrough: entries },
  });
  await proxy.publish([
    route('once.test', entry('127.0.0.1', own('127.0.0.2')), entry('127.0.0.2', target.address)),
    route('self.test', entry('127.0.0.1', own('127.0.0.1'))),
    route('circle.test', entry('127.0.0.1', own('127.0.0.2')), entry('127.0.0.2', own('127.0.0.1'))),
  ]);
  await new Client(proxy.securePort, 'once.test').read('end:');
  for (const host of ['self.test', 'circle.test']) {
    const client = new Client(proxy.securePort, host);
    await eventually('the end', () => client.failure !== '');
  }
  const counts = { 'once.test passed': 2, 'self.test passed': 1, 'self.test failed': 1, 'circle.test passed': 2, 'circle.test failed': 1 };
  assert.deepEqual(passedCounts(proxy), counts);
});

test('an entry is for some addresses of this machine', async () => {
  const [first, second] = [
    await Target.start('first', await makePair(['a.test'])),
    await Target.start('second', await makePair(['a.test'])),
  ];
  const entry = ({ address }: Target, ...local_ips: string[]) => ({ local_ips, upstreams: [{ address }] });
  const route: RouteInput = {
    ...{ domain: 'a.test', upstream: null, tls: false },
    tls_passthrough: [entry(first, '127.0.0.1'), entry(second, '127.0.0.2')],
  };
  using proxy = await ProxyFixture.with([route], { httpsPort: 0, bind: '0.0.0.0' });
  await new Client(proxy.securePort, 'a.test').read('first:');
  await new Client(proxy.securePort, 'a.test', [], '127.0.0.2').read('second:');
});

test('an end of one side leaves the other open, and megabytes pass through a slow reader', async () => {
  const size = 8_000_000;
  const target = await Target.start('', await makePair(['a.test']), (socket) => {
    let read = 0;
    socket.on('data', (piece) => {
      read += piece.length;
    });
    socket.on('end', () => socket.end(`${read}${'x'.repeat(size)}`));
  });
  using proxy = await ProxyFixture.with([passing('a.test', {}, target.address)], { httpsPort: 0 });
  const client = new Client(proxy.securePort, 'a.test');
  client.socket.pause();
  client.socket.end('y'.repeat(size));
  await eventually('the target to answer', () => target.sockets[0]?.writableEnded === true);
  client.socket.resume();
  await once(client.socket, 'end');
  assert.equal(client.received.length, size + `${size}`.length);
  assert.ok(client.received.startsWith(`${size}x`));
});

test('an end that arrives before the target is connected is passed on', async () => {
  const server = createTcpServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  const { port } = server.address() as { port: number };
  using proxy = await ProxyFixture.with([passing('a.test', {}, `127.0.0.1:${port}`)], { httpsPort: 0 });
  const hello = await new Promise<Buffer>((resolve) => {
    const socket = new Duplex({ read: () => undefined, write: (bytes: Buffer) => resolve(bytes) });
    connect({ socket, servername: 'a.test' }).on('error', () => undefined);
  });
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = createConnection(proxy.securePort, '127.0.0.1', () => client.end(hello)).resume();
  const [socket] = await accepted;
  await once(socket.resume(), 'end');
  await eventually('nothing to be left', () => proxy.ledger.connections.sockets() === 0);
});

test('the target gets a PROXY header if the route says so', async () => {
  const server = createTcpServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  const { port } = server.address() as { port: number };
  using proxy = await ProxyFixture.with([passing('a.test', { proxy_protocol: 'v1' }, `127.0.0.1:${port}`)], { httpsPort: 0 });
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = new Client(proxy.securePort, 'a.test');
  const [socket] = await accepted;
  const [first] = (await once(socket, 'data')) as [Buffer];
  const line = first.toString('latin1');
  assert.ok(
    line.startsWith(`PROXY TCP4 127.0.0.1 127.0.0.1 ${client.socket.localPort} ${proxy.securePort}\r\n\x16\x03`),
    line.slice(0, 80),
  );
  socket.resetAndDestroy();
  await eventually('the reset to arrive', () => client.failure === 'ECONNRESET');
});

test('the PROXY header for the target has the port of the client that an earlier one has named', async () => {
  const server = createTcpServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  const { port } = server.address() as { port: number };
  const trusting = { httpsPort: 0, proxyProtocol: true, trustedProxies: ['127.0.0.0/8' as Cidr] };
  using proxy = await ProxyFixture.with([passing('a.test', { proxy_protocol: 'v1' }, `127.0.0.1:${port}`)], trusting);
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = createConnection(proxy.securePort, '127.0.0.1');
  after(() => client.destroy());
  client.write('PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n');
  connect({ socket: client, servername: 'a.test' }).on('error', () => undefined);
  const [socket] = await accepted;
  const [first] = (await once(socket, 'data')) as [Buffer];
  assert.match(first.toString('latin1'), /^PROXY TCP4 203\.0\.113\.9 \S+ 56324 /);
  socket.resetAndDestroy();
});

test('an idle connection is closed, and one whose target left the route a while later', async () => {
  const target = await Target.start('a', await makePair(['a.test']));
  using proxy = await ProxyFixture.with([passing('a.test', { idle_timeout_secs: 60 }, target.address)], { httpsPort: 0 });
  const idle = new Client(proxy.securePort, 'a.test');
  await idle.read('a:');
  proxy.clock.pass(1_000);
  await nextTurn();
  proxy.clock.pass(61_000);
  await eventually('the end of the idle connection', () => idle.socket.readableEnded);
  const left = new Client(proxy.securePort, 'a.test');
  await left.read('a:');
  await proxy.publish([passing('a.test', { idle_timeout_secs: 3_600 }, target.address)]);
  proxy.clock.pass(31_000);
  left.socket.write('still');
  await left.read('a:still');
  await proxy.publish([passing('a.test', {}, '127.0.0.1:1')]);
  left.socket.write(' here');
  await left.read('a:still here');
  proxy.clock.pass(31_000);
  await eventually('the end of the connection', () => left.socket.readableEnded);
});

test("an authority's challenge is answered by the target, unless it is one of ours", async () => {
  const target = await Target.start('target', await makePair(['a.test']));
  using proxy = await ProxyFixture.with([passing('a.test', {}, target.address)], { httpsPort: 0 });
  const client = new Client(proxy.securePort, 'a.test', ['acme-tls/1']);
  await client.read('target:');
  assert.equal(client.socket.alpnProtocol, 'acme-tls/1');
});

test('open connections are waited for when the worker drains', async () => {
  const target = await Target.start('a', await makePair(['a.test']));
  using proxy = await ProxyFixture.with([passing('a.test', {}, target.address)], { httpsPort: 0 });
  const client = new Client(proxy.securePort, 'a.test');
  await client.read('a:');
  proxy.drain();
  client.socket.write('late');
  await client.read('a:late');
  assert.ok(!proxy.messages.some(({ kind }) => kind === 'drained'));
  client.socket.end();
  await eventually('the worker to be drained', () => proxy.messages.some(({ kind }) => kind === 'drained'));
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { type MadePair, makePair } from '../../../shared/certificates/testing/pairs.ts';
import { eventually, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

/** The bytes between a client's TLS and its connection, kept back on request. */
class Transport extends Duplex {
  private readonly raw: Socket;
  private held: Buffer[] | null = null;

  constructor(raw: Socket) {
    super();
    this.raw = raw;
    raw.on('data', (bytes) => this.push(bytes)).on('error', () => undefined);
  }

  hold(): void {
    this.held = [];
  }

  release(): void {
    this.held = null;
  }

  /** What has been kept back. */
  async taken(): Promise<Buffer> {
    await eventually('bytes', () => this.held !== null && this.held.length > 0);
    return Buffer.concat(this.held ?? []);
  }

  override _read(): void {
    // Everything is pushed as it arrives.
  }

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    if (this.held === null) this.raw.write(bytes);
    else this.held.push(bytes);
    done();
  }
}

function secure(socket: Transport, servername: string, pair: MadePair | null): TLSSocket {
  const shown = pair === null ? {} : { cert: pair.certificate, key: pair.privateKey };
  const client = connect({ socket, servername, rejectUnauthorized: false, minVersion: 'TLSv1.3', ...shown });
  return client.on('error', () => undefined);
}

async function open(port: number, localPort?: number): Promise<Socket> {
  const socket = connectTcp({ port, host: '127.0.0.1', ...(localPort !== undefined && { localPort }) });
  await once(socket, 'connect');
  return socket.on('error', () => undefined);
}

/** From a port below those that the system takes for outgoing connections, so that nothing else gets it in between. */
async function openFromLowPort(port: number): Promise<Socket> {
  for (let localPort = 11_000 + (process.pid % 20_000); ; localPort++) {
    try {
      return await open(port, localPort);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

test('clients that reset their connections are never taken for one another, regardless of the certificates that their sites require', async () => {
  const [staff, guests] = [
    await makePair([], { subject: 'CN=a', authority: true }),
    await makePair([], { subject: 'CN=b', authority: true }),
  ];
  const guest = await makePair([], { subject: 'CN=guest', signer: guests.signs });
  const shown = await makePair(['staff.test', 'guests.test']);
  using upstream = await UpstreamFixture.serving(ok('inside'));
  const routes = [
    { ...site('staff.test', upstream), client_auth: { ca: staff.certificate } },
    { ...site('guests.test', upstream), client_auth: { ca: guests.certificate } },
  ];
  using proxy = await ProxyFixture.with(routes, { httpsPort: 0 });
  await proxy.certify({ domains: ['staff.test', 'guests.test'], certificate: shown.certificate, private_key: shown.privateKey });

  const stranger = await open(proxy.securePort);
  const unsent = new Transport(new Socket());
  unsent.hold();
  secure(unsent, 'staff.test', null);
  const hello = await unsent.taken();

  const second = await open(proxy.securePort);
  const transport = new Transport(second);
  const client = secure(transport, 'guests.test', guest);
  second.prependOnceListener('data', () => transport.hold());
  await once(client, 'secureConnect');
  await new Promise((written) => client.write('GET /secret HTTP/1.1\r\nHost: staff.test\r\n\r\n', written));
  const rest = await transport.taken();

  // The worker reads all of it after both resets: the beginning of one handshake, and then the end of another with a request.
  stranger.write(hello);
  stranger.resetAndDestroy();
  second.write(rest);
  second.resetAndDestroy();
  await eventually('both connections to be over', () => {
    proxy.clock.pass(1_000);
    return proxy.ledger.connections.open() === 0;
  });
  assert.deepEqual(
    upstream.requests.map(({ line }) => line),
    [],
  );
});

test('a handshake is completed although one from the same port, which failed before, is only over now', async () => {
  const authority = await makePair([], { subject: 'CN=a', authority: true });
  const staff = await makePair([], { subject: 'CN=staff', signer: authority.signs });
  const shown = await makePair(['staff.test']);
  const route = { ...site('staff.test'), respond: { status: 200, body: 'inside' }, client_auth: { ca: authority.certificate } };
  using proxy = await ProxyFixture.with([route], { httpsPort: 0 });
  await proxy.certify({ domains: ['staff.test'], certificate: shown.certificate, private_key: shown.privateKey });

  const first = await openFromLowPort(proxy.securePort);
  const { localPort } = first;
  await once(secure(new Transport(first), 'staff.test', null), 'error');
  first.resetAndDestroy();

  const second = await open(proxy.securePort, localPort);
  const transport = new Transport(second);
  const client = secure(transport, 'staff.test', staff);
  second.prependOnceListener('data', () => transport.hold());
  await once(client, 'secureConnect');
  const rest = await transport.taken();
  proxy.clock.pass(2_000);
  await eventually('the first to be over', () => proxy.ledger.connections.open() === 1);
  second.write(rest);
  transport.release();
  client.write('GET / HTTP/1.1\r\nHost: staff.test\r\nConnection: close\r\n\r\n');
  const answer = await new Promise((resolve) => {
    client.once('data', resolve);
    second.once('close', () => resolve('the end'));
  });
  assert.match(String(answer), /^HTTP\/1\.1 200 /);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import { ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';
import { APPLICATION_DATA, CIPHER, MANY, RecordKeys } from '../testing/tls-records.ts';

const MOST = 600_000;
const LARGE = 20_000_000;

/** A client of TLS 1.3 that writes its records itself once the handshake is complete, and reads nothing any more. */
class RecordWriter {
  readonly raw: Socket;
  readonly keys: RecordKeys;

  private constructor(raw: Socket, secret: Buffer) {
    this.raw = raw;
    this.keys = new RecordKeys(secret);
  }

  static async to(port: number, servername: string, protocol: string): Promise<RecordWriter> {
    const raw = connectTcp(port, '127.0.0.1');
    raw.on('error', () => undefined);
    await once(raw, 'connect');
    const stream = new Duplex({ read: () => undefined, write: (bytes: Buffer, _, done) => void raw.write(bytes, () => done()) });
    raw.on('data', (bytes: Buffer) => stream.push(bytes));
    const options = { servername, rejectUnauthorized: false, minVersion: 'TLSv1.3', ciphers: CIPHER } as const;
    const client = connect({ socket: stream, ALPNProtocols: [protocol], ...options });
    let secret = '';
    client.on('keylog', (line: Buffer) => {
      secret = /^CLIENT_TRAFFIC_SECRET_0 \S+ (\S+)/.exec(line.toString())?.[1] ?? secret;
    });
    await once(client, 'secureConnect');
    // What it writes to complete the handshake has been written.
    await new Promise((written) => raw.write('', written));
    raw.pause();
    return new RecordWriter(raw, Buffer.from(secret, 'hex'));
  }

  async send(bytes: Buffer): Promise<void> {
    await new Promise((written) => this.raw.write(bytes, written));
  }
}

test('a client that requests keys without end and reads none of them is disconnected', async (t) => {
  const shown = await makePair(['a.test']);
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.with([site('a.test', upstream)], { httpsPort: 0 });
  await proxy.certify({ domains: ['a.test'], certificate: shown.certificate, private_key: shown.privateKey });
  const client = await RecordWriter.to(proxy.securePort, 'a.test', 'http/1.1');
  t.after(() => client.raw.destroy());
  const { keys } = client;
  await client.send(keys.record(APPLICATION_DATA, 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\n'));
  const target = await upstream.accept();
  // Fills what the kernel keeps for the client, which otherwise takes most of the replies.
  target.send(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n${'x'.repeat(LARGE)}`);
  let updates = 0;
  for (; !client.raw.closed && updates < MOST; updates += MANY) {
    await client.send(keys.manyUpdates('x'));
    proxy.clock.pass(100);
    await new Promise(setImmediate);
  }
  t.diagnostic(`after ${updates} updates`);
  assert.ok(client.raw.closed, 'it is still connected');
  assert.equal(proxy.ledger.connections.open(), 0);
});

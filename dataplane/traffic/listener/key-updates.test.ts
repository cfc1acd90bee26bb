import assert from 'node:assert/strict';
import { createCipheriv, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import { ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';

const HANDSHAKE = 22;
const APPLICATION_DATA = 23;
/** A KeyUpdate that requests one in return (RFC 8446 4.6.3). */
const KEY_UPDATE = Buffer.from([24, 0, 0, 1, 1]);
/** OpenSSL accepts 32 in a row, and then more after a byte of data. */
const IN_A_ROW = 31;
const MOST = 600_000;

/** HKDF-Expand-Label without a context (RFC 8446 7.1). */
function expanded(secret: Buffer, label: string, length: number): Buffer {
  const full = `tls13 ${label}`;
  const info = Buffer.concat([Buffer.from([0, length, full.length]), Buffer.from(full), Buffer.from([0, 1])]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, length);
}

/** A client of TLS 1.3 that writes its records itself once the handshake is complete, and reads nothing any more. */
class RecordWriter {
  readonly raw: Socket;
  private secret: Buffer;
  private key: Buffer = Buffer.alloc(0);
  private iv: Buffer = Buffer.alloc(0);
  private sequence = 0;

  private constructor(raw: Socket, secret: Buffer) {
    this.raw = raw;
    this.secret = secret;
    this.useSecret();
  }

  static async to(port: number, servername: string, protocol: string): Promise<RecordWriter> {
    const raw = connectTcp(port, '127.0.0.1');
    raw.on('error', () => undefined);
    await once(raw, 'connect');
    const stream = new Duplex({ read: () => undefined, write: (bytes: Buffer, _, done) => void raw.write(bytes, () => done()) });
    raw.on('data', (bytes: Buffer) => stream.push(bytes));
    const options = { servername, rejectUnauthorized: false, minVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256' } as const;
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

  private useSecret(): void {
    this.key = expanded(this.secret, 'key', 16);
    this.iv = expanded(this.secret, 'iv', 12);
    this.sequence = 0;
  }

  record(type: number, data: Buffer | string): Buffer {
    const nonce = Buffer.from(this.iv);
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ this.sequence++) >>> 0, 8);
    const inner = Buffer.concat([Buffer.from(data), Buffer.from([type])]);
    const head = Buffer.from([APPLICATION_DATA, 3, 3, 0, inner.length + 16]);
    const cipher = createCipheriv('aes-128-gcm', this.key, nonce).setAAD(head);
    const body = Buffer.concat([cipher.update(inner), cipher.final()]);
    return Buffer.concat([head, body, cipher.getAuthTag()]);
  }

  keyUpdate(): Buffer {
    const record = this.record(HANDSHAKE, KEY_UPDATE);
    this.secret = expanded(this.secret, 'traffic upd', 32);
    this.useSecret();
    return record;
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
  await client.send(client.record(APPLICATION_DATA, 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\n'));
  await upstream.accept();
  let updates = 0;
  for (; !client.raw.closed && updates < MOST; updates += IN_A_ROW * 50) {
    const records: Buffer[] = [];
    for (let row = 0; row < 50; row++) {
      for (let nth = 0; nth < IN_A_ROW; nth++) records.push(client.keyUpdate());
      records.push(client.record(APPLICATION_DATA, 'x'));
    }
    await client.send(Buffer.concat(records));
    proxy.clock.pass(50);
    await new Promise(setImmediate);
  }
  t.diagnostic(`after ${updates} updates`);
  assert.ok(client.raw.closed, 'it is still connected');
  assert.equal(proxy.ledger.connections.open(), 0);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { TLSSocket } from 'node:tls';
import { CertificatesFixture } from '../../testing/certificates.ts';
import { FRAME, frame } from '../../testing/http2/frames.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { APPLICATION_DATA, CIPHER, MANY, RECORD_HEAD, RecordKeys } from '../../testing/tls-records.ts';

const MOST = 200_000;
/** Those that OpenSSL sends a client. */
const TICKETS = 2;

/** The server's side of TLS 1.3 on a connection, which writes its records itself after the first request, and reads nothing any more. */
async function acceptOn(raw: Socket, certificates: CertificatesFixture, protocol: string): Promise<RecordKeys> {
  let requested = false;
  let sent = 0;
  const write = (bytes: Buffer, _: string, done: () => void): void => {
    for (let at = 0; requested && at < bytes.length; at += RECORD_HEAD + bytes.readUInt16BE(at + 3)) sent++;
    raw.write(bytes, () => done());
  };
  const stream = new Duplex({ read: () => undefined, write });
  raw.on('error', () => undefined);
  const receive = (bytes: Buffer) => stream.push(bytes);
  raw.on('data', receive);
  const options = { ...certificates.issue('a.test'), minVersion: 'TLSv1.3', ciphers: CIPHER } as const;
  const server = new TLSSocket(stream, { isServer: true, ALPNProtocols: [protocol], ...options });
  let secret = '';
  server.on('keylog', (line: Buffer) => {
    secret = /^SERVER_TRAFFIC_SECRET_0 \S+ (\S+)/.exec(line.toString())?.[1] ?? secret;
  });
  // The tickets are sent before anything that waits for this event runs.
  server.once('data', () => {
    requested = true;
  });
  await eventually('the tickets', () => sent >= TICKETS);
  raw.off('data', receive).pause();
  return new RecordKeys(Buffer.from(secret, 'hex'), sent);
}

const UPGRADE = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n';
const ACCEPTED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n';

for (const [name, protocol, transport, request, begin, data] of [
  ['HTTP/1.1', 'http/1.1', {}, get(), 'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n', 'x'],
  ['HTTP/2', 'h2', { protocol: 'h2' }, get(), frame(FRAME.settings, 0, 0), frame(FRAME.windowUpdate, 0, 0, Buffer.from([0, 0, 0, 1]))],
  ['an upgraded connection', 'http/1.1', {}, UPGRADE, ACCEPTED, 'x'],
] as const)
  test(`a target over ${name} that requests keys without end and reads none of them is disconnected`, async (t) => {
    const certificates = new CertificatesFixture();
    const server = createServer();
    const folder = mkdtempSync(join(tmpdir(), 'keys-'));
    t.after(() => rmSync(folder, { recursive: true }));
    t.after(() => server.close());
    // The kernel keeps far fewer bytes for a Unix socket that are not read.
    const path = join(folder, 's');
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const target = { ...site('a.test', { address: `unix/${path}` }), tls: true };
    using proxy = await ProxyFixture.start([{ ...target, transport: { ca: certificates.ca, ...transport } }]);
    const client = await proxy.connect();
    client.send(request);
    const [raw] = (await once(server, 'connection')) as [Socket];
    t.after(() => raw.destroy());
    const keys = await acceptOn(raw, certificates, protocol);
    raw.write(keys.record(APPLICATION_DATA, begin));
    let updates = 0;
    for (; !raw.closed && updates < MOST; updates += MANY) {
      await new Promise((written) => raw.write(keys.manyUpdates(data), written));
      proxy.clock.pass(100);
      await new Promise(setImmediate);
    }
    t.diagnostic(`after ${updates} updates`);
    assert.ok(updates < MOST, 'it is still connected');
    assert.equal(proxy.ledger.connections.sockets(), proxy.ledger.connections.open());
  });

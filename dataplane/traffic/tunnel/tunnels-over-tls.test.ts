import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { connect, createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { CertificatesFixture } from '../testing/certificates.ts';
import { probedIn } from '../testing/probes.ts';
import { eventually, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { field, Wire } from '../testing/wire.ts';

const UPGRADE = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n';
const LARGE = 'x'.repeat(300_000);

describe('a tunnel with TLS on both sides', () => {
  const certificates = new CertificatesFixture();
  const { cert, key } = certificates.issue('a.test');
  const trusted = getCACertificates('default');
  before(() => setDefaultCACertificates([...trusted, certificates.ca]));
  after(() => setDefaultCACertificates(trusted));

  /** A proxy whose one target passes each of its connections to `target`, and a client of it. */
  async function between(target: (wire: Wire) => Promise<void>) {
    const server = createServer({ cert, key, allowHalfOpen: true }, (socket) => void target(new Wire(socket)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const proxy = await ProxyFixture.with([{ ...site('a.test', { address: `127.0.0.1:${port}` }), tls: true }], { httpsPort: 0 });
    await proxy.certify({ domains: ['a.test'], certificate: cert, private_key: key });
    const socket = connect({ host: '127.0.0.1', port: proxy.securePort, servername: 'a.test', ca: certificates.ca });
    await once(socket, 'secureConnect');
    const end = () => {
      socket.destroy();
      proxy[Symbol.dispose]();
      server.close();
    };
    return { proxy, client: new Wire(socket), [Symbol.dispose]: end };
  }

  test('finds out whether either side is still there', async () => {
    const target = Promise.withResolvers<Wire>();
    using way = await between(async (wire) => {
      await wire.readHead();
      wire.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\nwelcome');
      target.resolve(wire);
    });
    way.client.send(UPGRADE);
    await way.client.readThrough('welcome');
    const wire = await target.promise;
    for (const { socket } of [way.client, wire])
      await eventually('a probe', () => (probedIn(socket.remotePort, socket.localPort) ?? Number.POSITIVE_INFINITY) <= 75);
    wire.end();
  });

  test('relays bytes in both directions, early ones too, and ends with its target', async () => {
    using way = await between(async (wire) => {
      await wire.readHead();
      wire.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\nwelcome');
      wire.send(await wire.read(LARGE.length));
      await wire.readThrough('bye');
      wire.end('bye');
    });
    way.client.send(UPGRADE + LARGE);
    const head = await way.client.readHead();
    assert.match(head, /^HTTP\/1\.1 101 /);
    assert.notEqual(field(head, 'strict-transport-security'), null);
    assert.equal(await way.client.read(7), 'welcome');
    assert.equal(await way.client.read(LARGE.length), LARGE);
    way.client.send('bye');
    assert.equal(await way.client.readAll(), 'bye');
    way.client.end();
    await eventually('nothing to be in flight', () => way.proxy.ledger.inFlight.total() === 0);
  });

  test('is not opened if the target declines, and the response arrives complete', async () => {
    using way = await between(async (wire) => {
      await wire.readHead();
      wire.send(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${LARGE.length}\r\n\r\n${LARGE}`);
    });
    way.client.send(UPGRADE);
    const answer = await way.client.readAnswer();
    assert.match(answer.line, / 403 /);
    assert.equal(answer.body, LARGE);
    await way.client.until('the end', () => way.client.ended || way.client.closed);
    way.client.end();
    await eventually('nothing to be in flight', () => way.proxy.ledger.inFlight.total() === 0);
  });
});

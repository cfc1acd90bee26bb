import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { CertificatesFixture } from '../testing/certificates.ts';
import { ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

describe('a TLS-ALPN-01 challenge (RFC 8737)', () => {
  const authority = new CertificatesFixture();
  const shown = authority.selfSigned('a.test');
  let upstream: UpstreamFixture;
  let proxy: ProxyFixture;

  before(async () => {
    upstream = await UpstreamFixture.serving(ok('from the site'));
    proxy = await ProxyFixture.with([site('a.test', upstream), site('b.test', upstream)], { httpsPort: 0 });
    for (const name of ['a.test', 'b.test']) {
      const { cert, key } = authority.issue(name);
      await proxy.certify({ domains: [name], certificate: cert, private_key: key });
    }
    await proxy.challenge([{ name: 'a.test', certificate: shown.cert, privateKey: shown.key }]);
  });
  after(() => {
    proxy[Symbol.dispose]();
    upstream[Symbol.dispose]();
  });

  /** @throws the error that ended the handshake. */
  function shake(servername: string | undefined, ...ALPNProtocols: string[]): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: '127.0.0.1',
        port: proxy.securePort,
        ...(servername && { servername }),
        ALPNProtocols,
        rejectUnauthorized: false,
      });
      socket.once('secureConnect', () => resolve(socket)).on('error', reject);
    });
  }

  const isShown = (socket: TLSSocket): boolean => socket.getPeerX509Certificate()?.toString() === `${shown.cert.trim()}\n`;

  test('receives the challenge certificate, negotiates acme-tls/1, and is disconnected', async () => {
    const socket = await shake('a.test', 'acme-tls/1');
    assert.equal(socket.alpnProtocol, 'acme-tls/1');
    assert.ok(isShown(socket));
    const requests = upstream.requests.length;
    socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    await once(socket, 'close');
    assert.deepEqual([received, upstream.requests.length], ['', requests]);
  });

  test('is refused for a name without a pending challenge, with or without a certificate', async () => {
    for (const name of ['b.test', 'c.test', undefined]) await assert.rejects(shake(name, 'acme-tls/1'), /no application protocol/i);
  });

  test('is treated as an ordinary client if it also offers another protocol', async () => {
    const socket = await shake('a.test', 'acme-tls/1', 'http/1.1');
    assert.deepEqual([socket.alpnProtocol, isShown(socket)], ['http/1.1', false]);
    socket.destroy();
  });

  test('is refused once the challenge is over', async () => {
    await proxy.challenge([]);
    await assert.rejects(shake('a.test', 'acme-tls/1'), /no application protocol/i);
  });
});

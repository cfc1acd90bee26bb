import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { CertificatesFixture } from '../testing/certificates.ts';
import { ProxyFixture, site } from '../testing/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

describe('an authority that checks a name in a handshake (RFC 8737)', () => {
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
    authority[Symbol.dispose]();
  });

  /** @throws what ended the handshake. */
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

  test('is shown the certificate of the check, speaks acme-tls/1, and the connection is over', async () => {
    const socket = await shake('a.test', 'acme-tls/1');
    assert.equal(socket.alpnProtocol, 'acme-tls/1');
    assert.ok(isShown(socket));
    const requests = upstream.requests.length;
    socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    let said = '';
    socket.on('data', (chunk) => {
      said += chunk;
    });
    await once(socket, 'close');
    assert.deepEqual([said, upstream.requests.length], ['', requests]);
  });

  test('is refused for a name whose check nobody awaits, with or without a certificate', async () => {
    for (const name of ['b.test', 'c.test', undefined]) await assert.rejects(shake(name, 'acme-tls/1'), /no application protocol/i);
  });

  test('is a visitor like any other when it would speak something else as well', async () => {
    const socket = await shake('a.test', 'acme-tls/1', 'http/1.1');
    assert.deepEqual([socket.alpnProtocol, isShown(socket)], ['http/1.1', false]);
    socket.destroy();
  });

  test('finds nothing any more once the check is over', async () => {
    await proxy.challenge([]);
    await assert.rejects(shake('a.test', 'acme-tls/1'), /no application protocol/i);
  });
});

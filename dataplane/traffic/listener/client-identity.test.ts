import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { describe, test } from 'node:test';
import { type ConnectionOptions, connect } from 'node:tls';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import type { RouteInput } from '../../../shared/route.ts';
import { CertificatesFixture } from '../testing/certificates.ts';
import { eventually, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';
import { PresentedIdentity } from './client-identity.ts';

/** What OpenSSL prints about a certificate, as other proxies do. */
const openssl = (certificate: string, ...flags: string[]): string =>
  execFileSync('openssl', ['x509', '-noout', ...flags], { input: certificate })
    .toString()
    .replace(/\n$/, '');

for (const subject of [
  'CN=ann',
  'C=DE, O=Example, OU=Staff, CN=ann',
  'CN=ann\\, admin, O=a\\+b',
  'CN="  spaces  ", O=\\#x',
  'CN=a\\<b\\>\\;c\\\\',
  'CN=Zoë Müller 漢',
  'CN=a + OU=b, O=c',
  'CN=line\\0D\\0AX-Role: admin',
  'E=ann@a.test, CN=ann',
])
  test(`the subject ${subject} is written as in RFC 4514, in ASCII`, async () => {
    const { certificate } = await makePair(['a.test'], { subject });
    const identity = new PresentedIdentity(new X509Certificate(certificate));
    const expected = openssl(certificate, '-subject', '-nameopt', 'RFC2253').replace(/^subject=/, '');
    assert.equal(identity.subject, expected);
    assert.match(identity.subject, /^[\x20-\x7e]+$/);
    assert.equal(identity.issuer, expected);
  });

test('serial number, fingerprint and the certificate itself are those of Caddy', async () => {
  for (let turn = 0; turn < 3; turn++) {
    const { certificate } = await makePair(['a.test']);
    const identity = new PresentedIdentity(new X509Certificate(certificate));
    assert.equal(identity.serial, `${BigInt(`0x${openssl(certificate, '-serial').replace('serial=', '')}`)}`);
    assert.equal(
      identity.fingerprint,
      openssl(certificate, '-fingerprint', '-sha256')
        .replace(/^.*=|:/g, '')
        .toLowerCase(),
    );
    assert.equal(identity.der, certificate.replace(/-----.*-----|\n/g, ''));
  }
});

test('names are found by their kind and index, and one that contains a comma does not become two', async () => {
  const authority = new CertificatesFixture();
  const { cert } = authority.issueFor(
    { dNSName: 'a.test' },
    { rfc822Name: 'ann@a.test' },
    { uniformResourceIdentifier: 'spiffe://a.test/ann' },
    { dNSName: '*.b.test' },
    { iPAddress: '192.0.2.1' },
    { iPAddress: '2001:db8::1' },
  );
  const identity = new PresentedIdentity(new X509Certificate(cert));
  assert.deepEqual(
    [0, 1, 2].map((nth) => identity.name('dns_names', nth)),
    ['a.test', '*.b.test', ''],
  );
  assert.deepEqual([identity.name('ips', 0), identity.name('ips', 1)], ['192.0.2.1', '2001:db8::1']);
  assert.deepEqual([identity.name('emails', 0), identity.name('emails', 1)], ['ann@a.test', '']);
  assert.equal(identity.name('uris', 0), 'spiffe://a.test/ann');
  const { certificate } = await makePair(['a.test, DNS:admin.test', 'b.test']);
  const odd = new PresentedIdentity(new X509Certificate(certificate));
  assert.deepEqual(
    [0, 1, 2].map((nth) => odd.name('dns_names', nth)),
    ['a.test, DNS:admin.test', 'b.test', ''],
  );
});

const NAMES = ['staff.test', 'open.test'];
const authority = await makePair([], { subject: 'CN=staff', authority: true });
const ann = await makePair(['ann.staff.test'], { subject: 'CN=ann, O=Example', signer: authority.signs });
const shown = await makePair(NAMES, { signer: authority.signs });
const ANN: ConnectionOptions = { cert: ann.certificate, key: ann.privateKey };

const changes = [
  { name: 'X-Subject', value: '{tls_client_subject}' },
  { name: 'X-Name', value: '{http.request.tls.client.san.dns_names.0}' },
  { name: 'Client-Cert', value: ':{tls_client_certificate_der_base64}:' },
];

async function started(upstream: UpstreamFixture, more: Partial<RouteInput> = {}): Promise<ProxyFixture> {
  const staff = { ...site('staff.test', upstream), client_auth: { ca: authority.certificate }, request_headers: changes, ...more };
  const proxy = await ProxyFixture.with([staff, { ...site('open.test', upstream), request_headers: changes }], { httpsPort: 0 });
  await proxy.useTicketKeys(randomBytes(48));
  await proxy.certify({ domains: NAMES, certificate: shown.certificate, private_key: shown.privateKey });
  return proxy;
}

/** One request, in which the client claims to be someone else. @returns the session, to be resumed. */
async function visit(
  proxy: ProxyFixture,
  servername: string,
  more: ConnectionOptions,
): Promise<{ session: Buffer | undefined; reused: boolean }> {
  const socket = connect({ host: '127.0.0.1', port: proxy.securePort, ca: authority.certificate, servername, ...more });
  let session: Buffer | undefined;
  let answer = '';
  socket.on('session', (ticket) => {
    session = ticket;
  });
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1');
  });
  await once(socket, 'secureConnect');
  const reused = socket.isSessionReused();
  socket.write(`GET / HTTP/1.1\r\nHost: ${servername}\r\nX-Subject: CN=root\r\nX_Subject: CN=root\r\nClient-Cert: :evil:\r\n\r\n`);
  await eventually('the response', () => answer.endsWith('inside') && (reused || session !== undefined));
  socket.destroy();
  return { session, reused };
}

describe('the information about a client certificate for the upstream', () => {
  const expected = {
    subject: 'O=Example,CN=ann',
    name: 'ann.staff.test',
    certificate: `:${ann.certificate.replace(/-----.*-----|\n/g, '')}:`,
  };
  const received = ({ requests }: UpstreamFixture): object => {
    const { head } = requests.at(-1) ?? { head: '' };
    assert.doesNotMatch(head, /root|evil/);
    return { subject: field(head, 'X-Subject'), name: field(head, 'X-Name'), certificate: field(head, 'Client-Cert') };
  };

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
    test(`is the same in a resumed session (${version})`, async () => {
      using upstream = await UpstreamFixture.serving(ok('inside'));
      using proxy = await started(upstream);
      const mode = { minVersion: version, maxVersion: version };
      const { session } = await visit(proxy, 'staff.test', { ...ANN, ...mode });
      assert.deepEqual(received(upstream), expected);
      const { reused } = await visit(proxy, 'staff.test', { ...ANN, ...mode, ...(session && { session }) });
      assert.equal(reused, true);
      assert.deepEqual(received(upstream), expected);
    });

  test('is the same over HTTP/2', async () => {
    using upstream = await UpstreamFixture.serving(ok('inside'));
    using proxy = await started(upstream);
    const session = connectHttp2(`https://staff.test:${proxy.securePort}`, { ca: authority.certificate, host: '127.0.0.1', ...ANN });
    const stream = session.request({ ':path': '/', 'x-subject': 'CN=root' }).resume();
    await once(stream, 'end');
    session.destroy();
    assert.deepEqual(received(upstream), expected);
  });

  test('is empty where the site requires none, even if the client has one and claims it', async () => {
    using upstream = await UpstreamFixture.serving(ok('inside'));
    using proxy = await started(upstream);
    await visit(proxy, 'open.test', ANN);
    assert.deepEqual(received(upstream), { subject: '', name: '', certificate: '::' });
  });

  test('is a part of the key of the cache', async () => {
    using upstream = await UpstreamFixture.serving(ok('inside', 'Cache-Control: max-age=60\r\n'));
    using proxy = await started(upstream, { cache: {} });
    const bob = await makePair(['bob.staff.test'], { subject: 'CN=bob', signer: authority.signs });
    await visit(proxy, 'staff.test', ANN);
    await visit(proxy, 'staff.test', { cert: bob.certificate, key: bob.privateKey });
    assert.deepEqual(
      upstream.requests.map(({ head }) => field(head, 'X-Subject')),
      ['O=Example,CN=ann', 'CN=bob'],
    );
  });
});

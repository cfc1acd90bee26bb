import assert from 'node:assert/strict';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import type { TransportSpec } from '../../../../shared/upstreams/transport.ts';
import { CertificatesFixture } from '../../testing/certificates.ts';
import { Http2UpstreamFixture, okay } from '../../testing/http2/upstream.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';

const certificates = new CertificatesFixture();
const strangers = new CertificatesFixture();

const { ca } = certificates;
const failures = (proxy: ProxyFixture) =>
  proxy.log.lines.flatMap(({ fields }) => ('failure' in fields ? [(fields as { failure: string }).failure] : []));

const over = (target: { readonly address: string }, transport: TransportSpec, domain = 'a.test') => ({
  ...site(domain, target),
  tls: true,
  transport,
});

/** Its certificate, and the authority of those that it demands from clients. */
type Options = { readonly cert: string; readonly key: string; readonly ca?: string; readonly requestCert?: true };

/** A target for each protocol, with this certificate. */
const TARGETS = {
  h2: (options: Options) => Http2UpstreamFixture.serving(okay('x'), { ...options }),
  'http/1.1': async (options: Options) => {
    const server = createSecureServer(options, (_, response) => void response.end('x'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const end = () => {
      server.close();
      server.closeAllConnections();
    };
    return { address: `127.0.0.1:${port}`, [Symbol.dispose]: end };
  },
} as const;

for (const protocol of ['h2', 'http/1.1'] as const) {
  const spoken = protocol === 'h2' ? { protocol } : {};
  const serving = TARGETS[protocol];
  describe(`over TLS and ${protocol}`, () => {
    test('an untrusted certificate causes a 502', async () => {
      using target = await serving(certificates.issue('a.test'));
      using proxy = await ProxyFixture.start([over(target, spoken)]);
      assert.match((await proxy.request(get())).line, / 502 /);
      assert.deepEqual(failures(proxy), ['tls']);
    });

    test("the route's authority is trusted for its own name only", async () => {
      using target = await serving(certificates.issue('a.test'));
      using proxy = await ProxyFixture.start([over(target, { ...spoken, ca }), over(target, { ...spoken, ca }, 'b.test')]);
      assert.equal((await proxy.request(get())).body, 'x');
      assert.match((await proxy.request(get().replace('a.test', 'b.test'))).line, / 502 /);
    });

    test('a site with an IP address as its name requires a certificate for that address', async () => {
      using right = await serving(certificates.issue('10.0.0.1'));
      using wrong = await serving(certificates.issue('10.0.0.2'));
      using proxy = await ProxyFixture.start([over(right, { ...spoken, ca }, '10.0.0.1')]);
      const asked = get().replace('a.test', '10.0.0.1');
      assert.equal((await proxy.request(asked)).body, 'x');
      await proxy.publish([over(wrong, { ...spoken, ca }, '10.0.0.1')]);
      assert.match((await proxy.request(asked)).line, / 502 /);
    });

    test('another authority is not trusted', async () => {
      using target = await serving(certificates.issue('a.test'));
      using proxy = await ProxyFixture.start([over(target, { ...spoken, ca: strangers.ca })]);
      assert.match((await proxy.request(get())).line, / 502 /);
    });

    test('server_name of the route is the name sent in SNI and verified', async () => {
      using target = await serving(certificates.issue('inner.test'));
      using proxy = await ProxyFixture.start([over(target, { ...spoken, ca, server_name: 'inner.test' })]);
      assert.equal((await proxy.request(get())).body, 'x');
    });

    test('a target that demands a certificate gets that of the route, on every connection', async () => {
      using target = await serving({ ...certificates.issue('a.test'), ca: strangers.ca, requestCert: true });
      const present = ({ cert: certificate, key: private_key }: { cert: string; key: string }) => ({
        ...over(target, { ...spoken, ca, client_certificate: { certificate, private_key } }),
      });
      using proxy = await ProxyFixture.start([present(strangers.issue('proxy.test'))]);
      for (let turn = 0; turn < 2; turn++) assert.equal((await proxy.request(get())).body, 'x');
      await proxy.publish([present(certificates.issue('proxy.test'))]);
      assert.match((await proxy.request(get())).line, / 502 /, 'of another authority');
      await proxy.publish([over(target, { ...spoken, ca })]);
      assert.match((await proxy.request(get())).line, / 502 /, 'none');
      await proxy.publish([present(strangers.issue('proxy.test'))]);
      assert.equal((await proxy.request(get())).body, 'x', 'a new one');
    });

    test("a route with insecure accepts any certificate, and other routes don't", async () => {
      using target = await serving(strangers.selfSigned('c.test'));
      using proxy = await ProxyFixture.start([
        over(target, { ...spoken, insecure: true }),
        over(target, { ...spoken, server_name: 'a.test' }, 'b.test'),
      ]);
      for (let turn = 0; turn < 3; turn++) {
        assert.equal((await proxy.request(get())).body, 'x');
        assert.match((await proxy.request(get().replace('a.test', 'b.test'))).line, / 502 /);
      }
      assert.deepEqual(proxy.targetChanges(), [
        {
          address: target.address,
          tls: true,
          transport: transportOf(protocol),
          healthy: false,
          reason: 'the TLS handshake with the target failed',
        },
      ]);
    });
  });
}

const transportOf = (protocol: string): string => `${protocol === 'h2' ? 'h2 ' : ''}tls_server_name=a.test`;

test('a TLS target without HTTP/2 causes a 502', async () => {
  using target = await TARGETS['http/1.1'](certificates.issue('a.test'));
  using proxy = await ProxyFixture.start([over(target, { protocol: 'h2', ca })]);
  assert.match((await proxy.request(get())).line, / 502 /);
  assert.ok(['no_http2', 'tls'].includes(failures(proxy)[0] ?? ''), `${failures(proxy)}`);
});

test('a block inherits the transport of its site unless it has its own', async () => {
  using plain = await Http2UpstreamFixture.serving(okay('h2c'));
  using secure = await Http2UpstreamFixture.serving(okay('h2'), { ...certificates.issue('a.test') });
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test', plain),
      transport: { protocol: 'h2c' },
      handles: [
        { path: '/same/*', upstreams: [{ address: plain.address }] },
        { path: '/own/*', tls: true, upstreams: [{ address: secure.address }], transport: { protocol: 'h2', ca } },
        { path: '/plain/*', transport: null },
      ],
    },
  ]);
  assert.equal((await proxy.request(get('/same/'))).body, 'h2c');
  assert.equal((await proxy.request(get('/own/'))).body, 'h2');
  assert.equal((await proxy.request(get('/'))).body, 'h2c');
  assert.match((await proxy.request(get('/plain/'))).line, / 502 /);
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Cidr } from '../../../../shared/values/cidr.ts';
import { CertificatesFixture } from '../../testing/certificates.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

const ACTIVE = { automatic: true, internal: false, local: false, anyName: true, dns: false, publicPort: 443 };

describe('with automatic HTTPS', () => {
  test('a client without TLS is redirected to the same URL with its query, at the public HTTPS port', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    for (const [publicPort, base] of [
      [443, 'https://a.test'],
      [8443, 'https://a.test:8443'],
    ] as const) {
      using proxy = await ProxyFixture.with([site('a.test', upstream)], { https: { ...ACTIVE, publicPort } });
      for (const path of ['/', '/a%20b/../c?q=1&r=%2F']) {
        const { line, head } = await proxy.request(get(path).replace('Host: a.test', 'Host: A.test:8080'));
        assert.match(line, / 308 /);
        assert.equal(field(head, 'Location'), `${base}${path}`);
      }
    }
    assert.equal(upstream.requests.length, 0);
  });

  test('OPTIONS * is redirected to the root, since it has no URL of its own', async () => {
    using proxy = await ProxyFixture.with([{ ...site('a.test'), respond: { status: 200, body: 'x' } }], { https: ACTIVE });
    const { line, head } = await proxy.request('OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n');
    assert.match(line, / 308 /);
    assert.equal(field(head, 'Location'), 'https://a.test/');
  });

  test("a site with https off, or one that can't get a certificate, stays on HTTP", async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    const sites = [{ ...site('a.test', upstream), https: 'off' as const }, site('127.0.0.1', upstream), site('*.wild.test', upstream)];
    using proxy = await ProxyFixture.with(sites, { https: ACTIVE });
    for (const host of ['a.test', '127.0.0.1', 'x.wild.test'])
      assert.match((await proxy.request(get().replace('a.test', host))).line, / 200 /, host);
  });

  test('a site with https_redirect false is served over HTTP, too', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.with([{ ...site('a.test', upstream), https_redirect: false }], { https: ACTIVE });
    assert.match((await proxy.request(get())).line, / 200 /);
  });

  test('a client that came over HTTPS according to a trusted proxy is not redirected', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.with([site('a.test', upstream)], { https: ACTIVE, trustedProxies: ['127.0.0.0/8' as Cidr] });
    assert.match((await proxy.request(get('/', 'X-Forwarded-Proto: https\r\n'))).line, / 200 /);
    assert.match((await proxy.request(get('/', 'X-Forwarded-Proto: http\r\n'))).line, / 308 /);
  });

  test('redirects start and stop with the settings, without a new table', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.with([site('a.test', upstream)], {});
    assert.match((await proxy.request(get())).line, / 200 /);
    await proxy.configure({ https: ACTIVE });
    assert.match((await proxy.request(get())).line, / 308 /);
    await proxy.configure({});
    assert.match((await proxy.request(get())).line, / 200 /);
  });

  test('the limits of the public authority apply: names of private networks stay on HTTP', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.with([site('a.test', upstream)], { https: { ...ACTIVE, anyName: false } });
    assert.match((await proxy.request(get())).line, / 200 /);
  });
});

test('a site with an internal certificate is redirected if there is an internal authority', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.with([{ ...site('a.test', upstream), https: 'internal' }], {});
  assert.match((await proxy.request(get())).line, / 200 /);
  await proxy.configure({ https: { ...ACTIVE, automatic: false, internal: true } });
  assert.match((await proxy.request(get())).line, / 308 /);
});

test('a site with an applied certificate is redirected without any authority, but the catch-all never is', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  const sites = [site('a.test', upstream), site('*', upstream)].map((one) => ({ ...one, https: 'provided' as const }));
  using proxy = await ProxyFixture.with(sites, {});
  assert.match((await proxy.request(get())).line, / 308 /);
  assert.match((await proxy.request(get().replace('a.test', 'b.test'))).line, / 200 /);
});

describe('with an uploaded certificate', () => {
  const QUIET = { httpsPort: 0 };
  const certificate = (provided: boolean, ...domains: string[]) => {
    const made = new CertificatesFixture();
    const { cert, key } = made.issue(...domains);
    return { domains, certificate: cert, private_key: key, provided };
  };
  const status = async (proxy: ProxyFixture, host: string) =>
    / (\d+) /.exec((await proxy.request(get().replace('a.test', host))).line)?.[1];

  test('its sites are redirected without any authority as soon as it is loaded', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    const sites = ['a.test', 'x.wild.test', '*.wild.test', 'b.test', '*'].map((domain) => site(domain, upstream));
    using proxy = await ProxyFixture.with([...sites, { ...site('off.test', upstream), https: 'off' as const }], QUIET);
    assert.equal(await status(proxy, 'a.test'), '200');
    await proxy.certify(certificate(true, 'a.test', '*.wild.test', 'off.test', 'other.test'));
    for (const host of ['a.test', 'x.wild.test', 'y.wild.test']) assert.equal(await status(proxy, host), '308', host);
    for (const host of ['b.test', 'off.test', 'other.test']) assert.equal(await status(proxy, host), '200', host);
  });

  test('a certificate that was once ordered and is no longer managed redirects no site', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.with([site('a.test', upstream)], QUIET);
    await proxy.certify(certificate(false, 'a.test'));
    assert.equal(await status(proxy, 'a.test'), '200');
  });

  test('clients are not redirected to a closed port', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.with([site('a.test', upstream)], {});
    await proxy.certify(certificate(true, 'a.test'));
    assert.equal(await status(proxy, 'a.test'), '200');
    await proxy.configure(QUIET);
    assert.equal(await status(proxy, 'a.test'), '308');
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Cidr } from '../../../../shared/values/cidr.ts';
import { CertificatesFixture } from '../../testing/certificates.ts';
import { get, ProxyFixture, site } from '../../testing/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

const ACTIVE = { automatic: true, internal: false, local: false, anyName: true, dns: false, publicPort: 443 };

describe('with automatic HTTPS', () => {
  test('a visitor without TLS is sent to the same page, query and all, and back to the port that is public', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    for (const [publicPort, base] of [
      [443, 'https://a.test'],
      [8443, 'https://a.test:8443'],
    ] as const) {
      using proxy = await ProxyFixture.with([site('a.test', upstream)], { https: { ...ACTIVE, publicPort } });
      for (const path of ['/', '/a%20b/../c?q=1&r=%2F']) {
        const { line, head } = await proxy.ask(get(path).replace('Host: a.test', 'Host: A.test:8080'));
        assert.match(line, / 308 /);
        assert.equal(field(head, 'Location'), `${base}${path}`);
      }
    }
    assert.equal(upstream.requests.length, 0);
  });

  test('a site that says off, and one that can have no certificate, stay on HTTP', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    const sites = [{ ...site('a.test', upstream), https: 'off' as const }, site('127.0.0.1', upstream), site('*.wild.test', upstream)];
    using proxy = await ProxyFixture.with(sites, { https: ACTIVE });
    for (const host of ['a.test', '127.0.0.1', 'x.wild.test'])
      assert.match((await proxy.ask(get().replace('a.test', host))).line, / 200 /, host);
  });

  test('a visitor of whom a trusted proxy says that it came over HTTPS is not sent round in circles', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.with([site('a.test', upstream)], { https: ACTIVE, trustedProxies: ['127.0.0.0/8' as Cidr] });
    assert.match((await proxy.ask(get('/', 'X-Forwarded-Proto: https\r\n'))).line, / 200 /);
    assert.match((await proxy.ask(get('/', 'X-Forwarded-Proto: http\r\n'))).line, / 308 /);
  });

  test('begins and ends with the settings, without another table', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.with([site('a.test', upstream)], {});
    assert.match((await proxy.ask(get())).line, / 200 /);
    await proxy.configure({ https: ACTIVE });
    assert.match((await proxy.ask(get())).line, / 308 /);
    await proxy.configure({});
    assert.match((await proxy.ask(get())).line, / 200 /);
  });

  test('the public authority’s limits hold: names of a private network stay on HTTP', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.with([site('a.test', upstream)], { https: { ...ACTIVE, anyName: false } });
    assert.match((await proxy.ask(get())).line, / 200 /);
  });
});

test('a site of our own authority is redirected where there is one', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.with([{ ...site('a.test', upstream), https: 'internal' }], {});
  assert.match((await proxy.ask(get())).line, / 200 /);
  await proxy.configure({ https: { ...ACTIVE, automatic: false, internal: true } });
  assert.match((await proxy.ask(get())).line, / 308 /);
});

test('a site whose certificate comes along is redirected without any authority, but never every host', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  const sites = [site('a.test', upstream), site('*', upstream)].map((one) => ({ ...one, https: 'provided' as const }));
  using proxy = await ProxyFixture.with(sites, {});
  assert.match((await proxy.ask(get())).line, / 308 /);
  assert.match((await proxy.ask(get().replace('a.test', 'b.test'))).line, / 200 /);
});

describe('with a certificate that somebody brought', () => {
  const QUIET = { httpsPort: 0 };
  const certificate = (brought: boolean, ...domains: string[]) => {
    using made = new CertificatesFixture();
    const { cert, key } = made.issue(...domains);
    return { domains, certificate: cert, private_key: key, brought };
  };
  const status = async (proxy: ProxyFixture, host: string) => / (\d+) /.exec((await proxy.ask(get().replace('a.test', host))).line)?.[1];

  test('the sites that it is shown for are redirected without any authority, from the moment at which it is there', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    const sites = ['a.test', 'x.wild.test', '*.wild.test', 'b.test', '*'].map((domain) => site(domain, upstream));
    using proxy = await ProxyFixture.with([...sites, { ...site('off.test', upstream), https: 'off' as const }], QUIET);
    assert.equal(await status(proxy, 'a.test'), '200');
    await proxy.certify(certificate(true, 'a.test', '*.wild.test', 'off.test', 'other.test'));
    for (const host of ['a.test', 'x.wild.test', 'y.wild.test']) assert.equal(await status(proxy, host), '308', host);
    for (const host of ['b.test', 'off.test', 'other.test']) assert.equal(await status(proxy, host), '200', host);
  });

  test('one that was ordered once and that nobody sees to any more redirects nobody', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.with([site('a.test', upstream)], QUIET);
    await proxy.certify(certificate(false, 'a.test'));
    assert.equal(await status(proxy, 'a.test'), '200');
  });

  test('nobody is sent to a port that is closed', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.with([site('a.test', upstream)], {});
    await proxy.certify(certificate(true, 'a.test'));
    assert.equal(await status(proxy, 'a.test'), '200');
    await proxy.configure(QUIET);
    assert.equal(await status(proxy, 'a.test'), '308');
  });
});

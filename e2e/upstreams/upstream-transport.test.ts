import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { Http2UpstreamFixture, okay } from '../../dataplane/traffic/testing/http2/upstream.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';

type Upstream = { address: string; transport?: string; healthy: boolean; reason: string | null; last_failure?: { code: string } };

/** Replaces a file atomically, as certificate renewals do. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

describe('with the transport of a config file', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, '');
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('upstreams are verified with the authority in the Sluicefile, which is reloaded when it changes', async () => {
    const authority = new CertificatesFixture();
    const stranger = new CertificatesFixture();
    using upstream = await Http2UpstreamFixture.serving(okay('hello'), { ...authority.issue('inner.test') });
    writeFileSync(folder.file('ca.pem'), authority.ca);
    const options = '{\n    tls_server_name inner.test\n    ca ca.pem\n  }';
    await pair.serve(`a.test {\n  reverse_proxy https://${upstream.address}\n  transport h2 ${options}\n}\n`);
    assert.deepEqual(await pair.visit('a.test').then(({ status, text }) => [status, text]), [200, 'hello']);
    replace(folder.file('ca.pem'), stranger.ca);
    await until('the other authority to be used', async () => (await pair.visit('a.test')).status === 502);
    const failed = await until('the failure to be reported', async () => {
      // Workers report once a second, and the Admin API's limit allows one request a second.
      await new Promise((later) => setTimeout(later, 500));
      const [known] = JSON.parse((await pair.admin('/upstreams')).text) as Upstream[];
      return known?.last_failure && known;
    });
    assert.match(failed.transport ?? '', /^h2 tls_server_name=inner\.test ca=[0-9a-f]{32}$/);
    assert.equal(failed.last_failure?.code, 'tls');
    // A file that is not an authority is a config error like any other, so the previous state stays.
    replace(folder.file('ca.pem'), 'nonsense');
    await until('the error to be reported', async () => (await pair.admin('/status')).text.includes('it contains no certificate'));
    assert.match((await pair.command('status')).stdout, /Sluicefile:\d+:8: ca "ca\.pem": .*it contains no certificate/);
    replace(folder.file('ca.pem'), authority.ca);
    await until('the first authority to be trusted again', async () => (await pair.visit('a.test')).text === 'hello');
  });

  test('upstreams get the certificate of tls_client_auth for requests and health checks, and a renewed one once its files change', async () => {
    const authority = new CertificatesFixture();
    const clients = new CertificatesFixture();
    const stranger = new CertificatesFixture();
    const demanding = { ...authority.issue('inner.test'), ca: clients.ca, requestCert: true };
    using upstream = await Http2UpstreamFixture.serving(okay('hello'), demanding);
    const put = ({ cert, key }: { cert: string; key: string }): void => {
      replace(folder.file('proxy.key'), key);
      replace(folder.file('proxy.pem'), cert);
    };
    put(stranger.issue('proxy.test'));
    writeFileSync(folder.file('ca.pem'), authority.ca);
    const options = '{\n    tls_server_name inner.test\n    ca ca.pem\n    tls_client_auth proxy.pem proxy.key\n  }';
    const health = '  health_uri /up\n';
    await pair.serve(`a.test {\n  reverse_proxy https://${upstream.address}\n${health}  transport h2 ${options}\n}\n`);
    assert.equal((await pair.visit('a.test')).status, 502, 'the upstream trusts another authority');
    put(clients.issue('proxy.test'));
    await until('the new certificate to be used', async () => (await pair.visit('a.test')).text === 'hello');
    await until('a health check to succeed', async () => upstream.requests.some(({ field }) => field(':path') === '/up'));
    const shown = (await pair.admin('/routes?view=full')).text;
    assert.match(shown, /"client_certificate":\{"certificate":"-----BEGIN CERTIFICATE-----/);
    assert.doesNotMatch(shown, /PRIVATE KEY/);
  });
});

test('health checks use the same transport as requests', async () => {
  using folder = new Folder();
  using upstream = await Http2UpstreamFixture.serving(okay('well'));
  const old = createServer((_, response) => response.end('well'));
  await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
  const address = old.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  await using dataplane = await Dataplane.start({ stateDir: folder.path });
  const target = (where: string) => ({ address: where, state: 'starting', probe: true });
  await dataplane.route('a.test', upstream.address, {
    transport: { protocol: 'h2c' },
    health: { path: '/up', interval_secs: 1 },
    upstreams: [target(upstream.address), target(`127.0.0.1:${address.port}`)],
  });
  await until('the target to be healthy', async () => (await dataplane.visit('a.test')).text === 'well');
  const asked = upstream.requests.find(({ field }) => field(':path') === '/up');
  assert.equal(asked?.field(':authority'), 'a.test');
  for (let turn = 0; turn < 4; turn++) assert.equal((await dataplane.visit('a.test')).status, 200);
  const known = JSON.parse((await dataplane.admin('GET', '/upstreams')).text) as Upstream[];
  const byAddress = new Map(known.map((one) => [one.address, one]));
  assert.deepEqual([byAddress.get(upstream.address)?.healthy, byAddress.get(upstream.address)?.transport], [true, 'h2c']);
  assert.match(byAddress.get(`127.0.0.1:${address.port}`)?.reason ?? '', /^not checked yet: GET \/up failed: /);
  old.close();
  old.closeAllConnections();
});

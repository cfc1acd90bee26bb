import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';

test('an upstream with a certificate from a private authority is trusted only with NODE_EXTRA_CA_CERTS', async () => {
  using folder = new Folder();
  const certificates = new CertificatesFixture();
  writeFileSync(folder.file('ca.pem'), certificates.ca);
  const upstream = createServer(certificates.issue('secure.test'), (_, response) => response.end('over TLS'));
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  for (const [env, status] of [
    [{ NODE_EXTRA_CA_CERTS: folder.file('ca.pem') }, 200],
    [{}, 502],
  ] as const) {
    await using dataplane = await Dataplane.start({ stateDir: folder.file(`state-${status}`), workers: 1, env });
    await dataplane.route('secure.test', address, { tls: true });
    const answer = await dataplane.visit('secure.test');
    assert.equal(answer.status, status);
    if (status === 200) assert.equal(answer.text, 'over TLS');
    else await dataplane.program.said(/"failure":"tls"/);
  }
  upstream.close();
  upstream.closeAllConnections();
});

test('a health check over TLS needs a certificate for the site', async () => {
  using folder = new Folder();
  const certificates = new CertificatesFixture();
  writeFileSync(folder.file('ca.pem'), certificates.ca);
  const upstream = createServer(certificates.issue('right.test'), (_, response) => response.end());
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  await using dataplane = await Dataplane.start({
    stateDir: folder.file('state'),
    workers: 1,
    env: { NODE_EXTRA_CA_CERTS: folder.file('ca.pem') },
  });
  const target = (id: string) => ({ tls: true, upstreams: [{ address, id, state: 'starting', probe: true }], health: { path: '/up' } });
  await dataplane.route('right.test', address, target('right'));
  await dataplane.route('wrong.test', address, target('wrong'));
  const status = async (id: string) => {
    const listed = JSON.parse((await dataplane.admin('GET', '/upstreams')).text) as { id: string; healthy: boolean; reason: string }[];
    return listed.find((one) => one.id === id);
  };
  await until('the good answer', async () => (await status('right'))?.healthy);
  await until('the bad one', async () => (await status('wrong'))?.reason.includes('failed'));
  assert.match(
    (await status('wrong'))?.reason ?? '',
    /^not checked yet: GET \/up failed: .*wrong\.test.* \(ERR_TLS_CERT_ALTNAME_INVALID\)$/,
  );
  upstream.close();
  upstream.closeAllConnections();
});

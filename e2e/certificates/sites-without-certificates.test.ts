import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';

test('status, explain and certificates report why sites have no HTTPS and what to do', async () => {
  using folder = new Folder();
  const authority = new CertificatesFixture();
  const certs = folder.file('certs');
  for (const name of ['mismatched', 'misnamed']) mkdirSync(`${certs}/${name}`, { recursive: true });
  writeFileSync(`${certs}/mismatched/cert.pem`, authority.issue('a.example.com').cert);
  writeFileSync(`${certs}/mismatched/key.pem`, authority.issue('b.example.com').key);
  writeFileSync(`${certs}/misnamed/chain.crt`, authority.issue('c.example.com').cert);
  await using dataplane = await Dataplane.start({
    stateDir: folder.file('state'),
    flags: ['--cert-dir', certs, '--https-port', `${await freePort()}`, '--acme-email', 'ops@example.com'],
  });
  for (const domain of ['nas.internal', '*.example.com', 'printer', 'chosen.internal'])
    await dataplane.admin('POST', '/routes', {
      ...{ domain, upstream: '127.0.0.1:1', tls: false },
      ...(domain === 'chosen.internal' && { https: 'off' }),
    });
  const warnings = async () => (JSON.parse((await dataplane.admin('GET', '/status')).text) as { warnings: string[] }).warnings.join('\n');
  await until('the sites to be judged', async () => (await warnings()).includes('printer'));
  for (const told of [
    /mismatched\/key\.pem: the key does not belong to the certificate in .*mismatched\/cert\.pem/,
    /misnamed has no files with the expected names, only chain\.crt; rename them/,
    /nas\.internal stays on HTTP: no public authority issues for names under internal; provide a certificate/,
    /\*\.example\.com stays on HTTP: a wildcard is verified over DNS/,
    /printer stays on HTTP: it has no dot/,
  ])
    assert.match(await warnings(), told);
  assert.doesNotMatch(await warnings(), /chosen\.internal/);
  const certificateOf = async (url: string) =>
    (JSON.parse((await dataplane.admin('GET', `/explain?url=${encodeURIComponent(url)}`)).text) as { certificate: string }).certificate;
  assert.match(await certificateOf('http://nas.internal/'), /^none, so it stays on HTTP: no public authority/);
  assert.match(await certificateOf('http://chosen.internal/'), /by choice, the site says tls off$/);
  const listed = JSON.parse((await dataplane.admin('GET', '/certificates')).text) as { last_error: string | null }[];
  assert.equal(listed.filter(({ last_error }) => /mismatched|misnamed/.test(last_error ?? '')).length, 2);
});

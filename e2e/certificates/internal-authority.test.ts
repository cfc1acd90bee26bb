import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import type { CertificateRecord } from '../../shared/wire/certificate.ts';
import { type Dataplane, frame, NDJSON } from '../testing/dataplane.ts';
import { InternalScene } from '../testing/internal-scene.ts';

const certificates = async (dataplane: Dataplane): Promise<CertificateRecord[]> =>
  JSON.parse((await dataplane.admin('GET', '/certificates')).text) as CertificateRecord[];

test('a site with the internal authority has HTTPS without an e-mail: name, wildcard, localhost and address', async () => {
  await using scene = await InternalScene.start();
  await using dataplane = await scene.dataplane();
  const internal = { https: 'internal' };
  for (const domain of ['shop.test', '*.wild.test', 'localhost', '127.0.0.1'])
    await dataplane.route(domain, scene.upstream.address, internal);
  await dataplane.route('plain.test', scene.upstream.address);
  await until('the redirect', async () => (await dataplane.visit('shop.test')).status === 308);
  assert.equal((await dataplane.visit('shop.test', '/a?b')).headers.location, `https://shop.test:${scene.httpsPort}/a?b`);
  for (const [name, host] of [['shop.test'], ['x.wild.test'], ['localhost'], [null, '127.0.0.1']] as const) {
    const answer = await scene.get(name, host);
    assert.match(answer, /^HTTP\/1.1 200 OK\r\n[\s\S]*hello$/, `${name}`);
    assert.doesNotMatch(answer, /strict-transport-security/i, 'a later visitor without the root must still get in over HTTP');
  }
  assert.equal((await dataplane.visit('plain.test')).status, 200);
  await assert.rejects(scene.get('plain.test'), /unrecognized name/i);
});

test('local_certs applies to every site without a tls directive, ends with the setting, and orders nothing over ACME', async () => {
  await using scene = await InternalScene.start();
  await using dataplane = await scene.dataplane(['--acme-email', 'ops@example.com', '--cert-dir', scene.folder.file('certs')]);
  const site = { domain: 'shop.test', upstream: scene.upstream.address };
  const say = async (revision: number, settings: object): Promise<void> => {
    const lines = frame(revision, [site, { ...site, domain: 'off.test', https: 'off' }]);
    const withSettings = lines.replace(/(?=\{"end")/, `${JSON.stringify({ settings })}\n`);
    assert.equal((await dataplane.admin('POST', '/routes', withSettings, NDJSON)).status, 200);
  };
  const origin = async () =>
    (JSON.parse((await dataplane.admin('GET', '/settings')).text) as { name: string }[]).find(({ name }) => name === 'local_certs');
  assert.deepEqual(await origin(), { name: 'local_certs', value: false, origin: 'default' });
  await say(1, { local_certs: true });
  await until('the redirect', async () => (await dataplane.visit('shop.test')).status === 308);
  assert.match(await scene.get('shop.test'), /hello$/);
  assert.equal((await dataplane.visit('off.test')).status, 200);
  assert.deepEqual(await origin(), { name: 'local_certs', value: true, origin: 'file' });
  const [record, ...others] = await certificates(dataplane);
  assert.deepEqual([record?.domains, record?.source, others], [['shop.test'], 'internal', []]);
  assert.ok(Date.parse(record?.renew_at ?? '') > Date.now());
  const explained = await dataplane.admin('GET', `/explain?url=${encodeURIComponent('https://shop.test/')}`);
  assert.match(
    (JSON.parse(explained.text) as { certificate: string }).certificate,
    /^shop\.test by sluice internal authority .*\(internal\)$/,
  );
  await say(2, {});
  await until('HTTP to be all there is', async () => (await dataplane.visit('shop.test')).status === 200);
  const refusal = () => scene.get('shop.test').then(() => null, String);
  assert.match(await until('the certificate to be removed', refusal), /unrecognized name/i);
});

test('of a thousand new names, the one that a visitor requests gets its certificate next', async () => {
  await using scene = await InternalScene.start();
  await using dataplane = await scene.dataplane(['--local-certs']);
  await dataplane.route('first.test', scene.upstream.address);
  await until('the authority', () => scene.get('first.test'));
  const sites = Array.from({ length: 1_000 }, (_, at) => ({ domain: `site-${at}.test`, upstream: scene.upstream.address }));
  assert.equal((await dataplane.admin('POST', '/routes', frame(1, sites), NDJSON)).status, 200);
  assert.match(await scene.get('site-999.test'), /hello$/);
  const made = await certificates(dataplane);
  assert.ok(made.length < 800, `${made.length} were there`);
  assert.ok(made.some(({ domains }) => domains[0] === 'site-999.test'));
});

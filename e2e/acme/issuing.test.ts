import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { type Dataplane, frame, NDJSON } from '../testing/dataplane.ts';
import { Upstream } from '../testing/upstream.ts';
import type { Pebble } from './testing/pebble.ts';
import { get, Scene } from './testing/scene.ts';

const skip = missing('pebble');

describe('a data plane with an authority', { skip }, () => {
  let scene: Scene;
  let dataplane: Dataplane;
  before(async () => {
    scene = await Scene.start();
    dataplane = await scene.dataplane();
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    await scene?.[Symbol.asyncDispose]();
  });

  test('a routed name gets a certificate, and the request right after the redirect works', async () => {
    await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
    await dataplane.route('shop.example.com', upstream.address);
    const redirected = await dataplane.visit('shop.example.com', '/a?b=c');
    assert.equal(redirected.status, 308);
    assert.equal(redirected.headers.location, `https://shop.example.com:${scene.httpsPort}/a?b=c`);
    const socket = await scene.shake('shop.example.com', await (scene.pebble as Pebble).root());
    assert.match(await get(socket, 'shop.example.com'), /^HTTP\/1.1 200 OK\r\n[\s\S]*hello$/);
    const records = JSON.parse((await dataplane.admin('GET', '/certificates')).text) as {
      domains: string[];
      source: string;
      renew_at: string;
    }[];
    const record = records.find(({ domains: [name] }) => name === 'shop.example.com');
    assert.deepEqual([record?.domains, record?.source], [['shop.example.com'], 'acme']);
    assert.ok(Date.parse(record?.renew_at ?? '') > Date.now());
  });

  test('50 names added at once all get certificates', async () => {
    await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
    const names = Array.from({ length: 50 }, (_, at) => `site-${at}.example.com`);
    const root = await (scene.pebble as Pebble).root();
    const routes = names.map((domain) => ({ domain, upstream: upstream.address }));
    assert.equal((await dataplane.admin('POST', '/routes', frame(1, routes), NDJSON)).status, 200);
    const sockets = await Promise.all(names.map((name) => until(name, () => scene.shake(name, root), 80_000)));
    for (const socket of sockets) socket.destroy();
  });

  // The last: it ends the data plane.
  test('a restart presents the existing certificate and orders none', async () => {
    await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
    const pebble = scene.pebble as Pebble;
    const root = await pebble.root();
    const serial = async () => {
      const socket = await scene.shake('kept.example.com', root);
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber;
    };
    await dataplane.route('kept.example.com', upstream.address);
    const first = await serial();
    const ordered = pebble.output.split('Added order').length;
    await dataplane.program.kill();
    await using _ = await scene.dataplane();
    assert.equal(await serial(), first);
    assert.equal(pebble.output.split('Added order').length, ordered);
  });
});

test('a certificate is issued without intervention after an outage of the authority', { skip }, async () => {
  await using scene = await Scene.start();
  const { ports } = scene.pebble as Pebble;
  await using dataplane = await scene.dataplane();
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  await scene.pebble?.[Symbol.asyncDispose]();
  await dataplane.route('shop.example.com', upstream.address);
  await dataplane.program.said(/can't be reached/);
  const before = scene.pebble as Pebble;
  await scene.startAuthority({ ports });
  assert.notEqual(scene.pebble, before);
  const root = await (scene.pebble as Pebble).root();
  // Its HTTPS now has a different root: the file at the same path is read again with the next account.
  const socket = await until('the certificate', () => scene.shake('shop.example.com', root), 90_000).catch((error: unknown) => {
    throw new Error(`${error}\n${dataplane.program.output}\n${scene.pebble?.output}`);
  });
  socket.destroy();
});

test('a root that does not verify the authority is reported with the flag to change', { skip }, async () => {
  await using scene = await Scene.start();
  writeFileSync(scene.folder.file('other.pem'), new CertificatesFixture().ca);
  await using dataplane = await scene.dataplane(['--acme-ca-root', scene.folder.file('other.pem')]);
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  await dataplane.route('shop.example.com', upstream.address);
  await dataplane.program.said(/--acme-ca-root PATH/);
  const explained = await dataplane.admin('GET', `/explain?url=${encodeURIComponent('https://shop.example.com/')}`);
  assert.match((JSON.parse(explained.text) as { certificate: string }).certificate, /none yet; the last try failed: .*--acme-ca-root/);
  const plain = await dataplane.admin('GET', `/explain?url=${encodeURIComponent('http://shop.example.com/')}`);
  assert.match(
    (JSON.parse(plain.text) as { certificate: string }).certificate,
    /over HTTPS none yet; the last try failed: .*--acme-ca-root/,
  );
});

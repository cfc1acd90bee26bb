import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderName } from '../../dataplane/tls/store/folder-name.ts';
import { type MadePair, makePair } from '../../shared/certificates/testing/pairs.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Upstream } from '../testing/upstream.ts';
import type { Pebble } from './testing/pebble.ts';
import { Scene, serialOf } from './testing/scene.ts';

const skip = missing('pebble');

test('after an authority has lost its data and changed its root, a new account is registered and the order continues', {
  skip,
}, async () => {
  await using scene = await Scene.start();
  const { ports, rootPath } = scene.pebble as Pebble;
  const folder = scene.folder.file('certs/accounts');
  const accounts = () => readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  await using dataplane = await scene.dataplane();
  await dataplane.route('one.example.com', upstream.address);
  await until('the first certificate', () => scene.kept('one.example.com'));
  const before = accounts();
  const root = readFileSync(rootPath);
  await scene.pebble?.[Symbol.asyncDispose]();
  await scene.startAuthority({ ports });
  assert.notDeepEqual(readFileSync(rootPath), root);
  await dataplane.route('two.example.com', upstream.address);
  await until('the second certificate', () => scene.kept('two.example.com'));
  await dataplane.program.said(/registered a new account at the certificate authority/);
  assert.equal(accounts().length, 1);
  assert.notDeepEqual(accounts(), before);
});

test('hosts that a provided certificate of a wildcard has served get their own once that has expired; hosts that one names wait for the next', {
  skip,
}, async () => {
  await using scene = await Scene.start();
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  const now = Date.now();
  for (const name of ['*.wild.example', 'named.example']) {
    const pair = await makePair([name], { notBefore: now - 90 * 86_400_000, notAfter: now - 60_000 });
    const folder = scene.folder.file(`certs/${name.replace('*', 'any')}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'fullchain.pem'), pair.certificate);
    writeFileSync(join(folder, 'privkey.pem'), pair.privateKey);
  }
  await using dataplane = await scene.dataplane();
  for (const name of ['named.example', 'shop.wild.example']) await dataplane.route(name, upstream.address);
  await until('a certificate of its own', () => scene.kept('shop.wild.example'));
  const root = await (scene.pebble as Pebble).root();
  (await until('it to be served', () => scene.shake('shop.wild.example', root))).destroy();
  assert.equal(scene.kept('named.example'), null);
});

test('damaged ordered certificates are ordered again, and damaged provided ones are only reported', { skip }, async () => {
  await using scene = await Scene.start();
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  const names = ['torn.example.com', 'mixed.example.com', 'whole.example.com'];
  const file = (name: string, part: string) => scene.folder.file(`certs/${name}/${part}.pem`);
  {
    await using dataplane = await scene.dataplane();
    for (const name of names) await dataplane.route(name, upstream.address);
    for (const name of names) await until(name, () => scene.kept(name));
    // An unfinished order would be resumed, and would restore the certificate that is damaged here.
    await until('no order to be under way', () => readdirSync(scene.folder.file('certs/.orders')).length === 0);
  }
  const before = names.map((name) => scene.kept(name));
  mkdirSync(scene.folder.file('certs/by-hand'));
  const torn = readFileSync(file('acme/torn.example.com', 'cert'), 'utf8').slice(0, 300);
  writeFileSync(file('acme/torn.example.com', 'cert'), torn);
  writeFileSync(file('by-hand', 'cert'), torn);
  writeFileSync(file('acme/mixed.example.com', 'key'), readFileSync(file('acme/whole.example.com', 'key')));
  await using again = await scene.dataplane();
  const root = await (scene.pebble as Pebble).root();
  const sockets = await Promise.all(names.map((name) => scene.shake(name, root)));
  const after = sockets.map((socket) => serialOf(socket));
  for (const socket of sockets) socket.destroy();
  assert.deepEqual(
    after,
    names.map((name) => scene.kept(name)),
  );
  assert.deepEqual(
    after.map((serial, at) => serial === before[at]),
    [false, false, true],
  );
  const lines = JSON.parse((await again.admin('GET', '/certificates')).text) as { source: string; last_error: string | null }[];
  assert.match(lines.find(({ source }) => source === 'file')?.last_error ?? '', /by-hand/);
  assert.equal(readFileSync(file('by-hand', 'cert'), 'utf8'), torn);
});

const DAY_MS = 86_400_000;

/** Stores a certificate as if it had been ordered from another authority. */
function store(scene: Scene, name: string, { certificate, privateKey }: MadePair, at: number): void {
  const folder = scene.folder.file(`certs/acme/${folderName([name])}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/cert.pem`, certificate);
  writeFileSync(`${folder}/key.pem`, privateKey);
  const meta = { domains: [name], order: `https://ca.test/${at}`, ari_id: null, saved_at: new Date(at).toISOString() };
  writeFileSync(`${folder}/meta.json`, JSON.stringify(meta));
}

test('a name whose certificate has expired is served with that of its wildcard, if that is valid, and renewed once', { skip }, async () => {
  const now = Date.now();
  await using scene = await Scene.start();
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  const lasting = await makePair(['*.example.com']);
  store(scene, '*.example.com', lasting, now);
  for (const name of ['a.example.com', 'b.example.com']) {
    const old = await makePair([name], { notBefore: now - 91 * DAY_MS, notAfter: now - DAY_MS });
    store(scene, name, old, now - 91 * DAY_MS);
  }
  const serials = () => ['a.example.com', 'b.example.com'].map((name) => scene.kept(name));
  const before = serials();
  await using dataplane = await scene.dataplane();
  await dataplane.route('a.example.com', upstream.address);
  (await scene.shake('b.example.com', lasting.certificate)).destroy();
  await dataplane.program.said(/"name":"a.example.com".*certificate renewed/);
  const [renewed, other] = serials();
  assert.notEqual(renewed, before[0]);
  assert.equal(other, before[1], 'it is not routed');
  const socket = await scene.shake('a.example.com', await (scene.pebble as Pebble).root());
  assert.equal(serialOf(socket), renewed);
  socket.destroy();
  assert.equal((scene.pebble as Pebble).output.split('Added order').length - 1, 1);
});

test('a name gets a certificate of its own once that of the wildcard over it, which was provided, is taken away', { skip }, async () => {
  await using scene = await Scene.start();
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  await using dataplane = await scene.dataplane();
  const { certificate, privateKey } = await makePair(['*.example.com']);
  const posted = await dataplane.admin('POST', '/certificates', { domains: ['*.example.com'], certificate, private_key: privateKey });
  assert.equal(posted.status, 201, posted.text);
  await dataplane.route('a.example.com', upstream.address);
  (await scene.shake('a.example.com', certificate)).destroy();
  await dataplane.route('a.example.net', upstream.address);
  await until('the order of another name', () => scene.kept('a.example.net'));
  assert.equal(scene.kept('a.example.com'), null);
  assert.equal((await dataplane.admin('DELETE', `/certificates/${encodeURIComponent('*.example.com')}`)).status, 200);
  await until('a certificate of its own', () => scene.kept('a.example.com'));
});

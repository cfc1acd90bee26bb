import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { missing } from '../components.ts';
import { until } from '../harness/until.ts';
import { Upstream } from '../harness/upstream.ts';
import type { Pebble } from './harness/pebble.ts';
import { RenewalFront } from './harness/renewal-front.ts';
import { get, Scene } from './harness/scene.ts';

const skip = missing('pebble');
const HOUR = 3_600_000;
const over = () => ({ start: Date.now() - 2 * HOUR, end: Date.now() - HOUR });
const later = () => ({ start: Date.now() + HOUR, end: Date.now() + 2 * HOUR });
/** A hundredth of its life has to pass before a certificate is renewed: 1 s. */
const VALID_SECS = 100;

/** The serial number of the certificate that is kept for a name; null while there is none, or a torn one. */
function kept(scene: Scene, name: string): string | null {
  try {
    return new X509Certificate(readFileSync(scene.folder.file(`certs/acme/${name}/cert.pem`))).serialNumber.toLowerCase();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}

const serialOf = (socket: TLSSocket): string => socket.getPeerCertificate().serialNumber.toLowerCase();

/** Visitors that come all the time, until they are told to stop: one on a connection that stays, one on new ones. */
class Visitors {
  requests = 0;
  readonly failures: string[] = [];
  readonly serials = new Set<string>();
  private stopping = false;
  private readonly done: Promise<unknown>;
  private readonly scene: Scene;
  private readonly name: string;
  private readonly root: string;

  constructor(scene: Scene, name: string, root: string) {
    this.scene = scene;
    this.name = name;
    this.root = root;
    this.done = Promise.all([this.stay(), this.comeAnew()]);
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.done;
  }

  private async stay(): Promise<void> {
    const socket = await this.scene.shake(this.name, this.root);
    socket.on('error', (error) => {
      if (!this.stopping) this.failures.push(`kept: ${error.message}`);
    });
    const ask = () => socket.write(`GET / HTTP/1.1\r\nHost: ${this.name}\r\n\r\n`);
    ask();
    for await (const answer of socket) {
      this.count(String(answer), 'kept');
      if (this.stopping || this.failures.length > 0) break;
      ask();
    }
    if (!this.stopping) this.failures.push('kept: the connection ended');
    socket.destroy();
  }

  private async comeAnew(): Promise<void> {
    while (!this.stopping && this.failures.length === 0)
      try {
        const socket = await this.scene.shake(this.name, this.root);
        this.serials.add(serialOf(socket));
        this.count(await get(socket, this.name), 'new');
      } catch (error) {
        this.failures.push(`new: ${error}`);
      }
  }

  private count(answer: string, where: string): void {
    this.requests++;
    if (!answer.startsWith('HTTP/1.1 200 ')) this.failures.push(`${where}: ${answer.slice(0, 200)}`);
  }
}

test('certificates are renewed under load when their authority says so: no request fails, and each order names the one before', {
  skip,
  timeout: 60_000,
}, async () => {
  await using scene = await Scene.start({ validSecs: VALID_SECS });
  await using front = await RenewalFront.start(scene.folder, () => scene.pebble as Pebble);
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  await using dataplane = await scene.dataplane([], front);
  let enough = false;
  front.advise = () => (enough ? later() : over());
  await dataplane.route('shop.example.com', upstream.address);
  const root = await (scene.pebble as Pebble).root();
  (await scene.shake('shop.example.com', root)).destroy();
  const visitors = new Visitors(scene, 'shop.example.com', root);
  await until('three renewals', () => visitors.serials.size >= 4, 30_000).finally(() => visitors.stop());
  enough = true;
  assert.deepEqual(visitors.failures, []);
  assert.ok(visitors.requests > 100, `${visitors.requests} requests`);
  const [first, ...renewals] = front.orders;
  assert.equal(first?.replaces, null);
  assert.ok(renewals.length >= 3);
  assert.deepEqual(
    renewals.map(({ replaces }) => replaces),
    front.asked.slice(0, renewals.length),
  );
  const renewed = /^sluice_certificate_orders_total\{result="renewed"\} (\d+)$/m.exec((await dataplane.admin('GET', '/metrics')).text);
  assert.ok(Number(renewed?.[1]) >= 3, `${renewed?.[0]}`);
  const { workers } = JSON.parse((await dataplane.admin('GET', '/status')).text) as { workers: { restarts: number } };
  assert.equal(workers.restarts, 0);
});

test('an authority that refuses to replace is asked for the same without', { skip, timeout: 60_000 }, async () => {
  await using scene = await Scene.start({ validSecs: VALID_SECS });
  await using front = await RenewalFront.start(scene.folder, () => scene.pebble as Pebble);
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  await using dataplane = await scene.dataplane([], front);
  front.refuses = 'alreadyReplaced';
  front.advise = () => (front.orders.length < 3 ? over() : later());
  await dataplane.route('shop.example.com', upstream.address);
  const serial = await until('the certificate', () => kept(scene, 'shop.example.com'));
  await until('another one', () => [kept(scene, 'shop.example.com')].find((now) => now !== null && now !== serial));
  const [first] = front.asked;
  assert.deepEqual(
    front.orders.map(({ replaces }) => replaces),
    [null, first, null],
  );
});

test('an authority that has lost its memory gives another account, and the order goes on', { skip, timeout: 60_000 }, async () => {
  await using scene = await Scene.start();
  const { ports, rootPath } = scene.pebble as Pebble;
  const accounts = () =>
    readdirSync(scene.folder.file('certs/accounts')).map((name) => readFileSync(join(scene.folder.file('certs/accounts'), name), 'utf8'));
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  await using dataplane = await scene.dataplane();
  await dataplane.route('one.example.com', upstream.address);
  await until('the first certificate', () => kept(scene, 'one.example.com'));
  const before = accounts();
  const root = readFileSync(rootPath);
  await scene.pebble?.[Symbol.asyncDispose]();
  await scene.startAuthority({ ports });
  await dataplane.program.kill();
  await using again = await scene.dataplane();
  assert.notDeepEqual(readFileSync(rootPath), root);
  await again.route('two.example.com', upstream.address);
  (await scene.shake('two.example.com', await (scene.pebble as Pebble).root())).destroy();
  await again.program.said(/another account at the certificate authority was opened/);
  assert.equal(accounts().length, 1);
  assert.notDeepEqual(accounts(), before);
});

test('files that a crash has torn are ordered anew, those of others are only told about', { skip, timeout: 60_000 }, async () => {
  await using scene = await Scene.start();
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  const names = ['torn.example.com', 'mixed.example.com', 'whole.example.com'];
  const file = (name: string, part: string) => scene.folder.file(`certs/${name}/${part}.pem`);
  {
    await using dataplane = await scene.dataplane();
    for (const name of names) await dataplane.route(name, upstream.address);
    for (const name of names) await until(name, () => kept(scene, name));
  }
  const before = names.map((name) => kept(scene, name));
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
    names.map((name) => kept(scene, name)),
  );
  assert.deepEqual(
    after.map((serial, at) => serial === before[at]),
    [false, false, true],
  );
  const lines = JSON.parse((await again.admin('GET', '/certificates')).text) as { source: string; last_error: string | null }[];
  assert.match(lines.find(({ source }) => source === 'file')?.last_error ?? '', /by-hand/);
  assert.equal(readFileSync(file('by-hand', 'cert'), 'utf8'), torn);
});

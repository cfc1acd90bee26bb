import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Upstream } from '../testing/upstream.ts';
import type { Pebble } from './testing/pebble.ts';
import { RenewalFront } from './testing/renewal-front.ts';
import { get, Scene, serialOf } from './testing/scene.ts';

const skip = missing('pebble');
const HOUR = 3_600_000;
const over = () => ({ start: Date.now() - 2 * HOUR, end: Date.now() - HOUR });
const later = () => ({ start: Date.now() + HOUR, end: Date.now() + 2 * HOUR });
/** A certificate is not renewed before a hundredth of its lifetime has passed: 1 s. */
const VALID_SECS = 100;
/** Between two requests of a visitor: at every moment of a renewal there are some, and the renewal has the cores. */
const PAUSE_MS = 2;

/** Continuous visitors until stopped: one on a kept connection, and one on new ones. */
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
      await wait(PAUSE_MS);
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
        await wait(PAUSE_MS);
      } catch (error) {
        this.failures.push(`new: ${error}`);
      }
  }

  private count(answer: string, where: string): void {
    this.requests++;
    if (!answer.startsWith('HTTP/1.1 200 ')) this.failures.push(`${where}: ${answer.slice(0, 200)}`);
  }
}

test('certificates are renewed under load when the authority says so, without failed requests, and each order names its predecessor', {
  skip,
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
  await until('three renewals', () => visitors.serials.size >= 4).finally(() => visitors.stop());
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
  await until('the log to say so', () => dataplane.program.output.split('certificate renewed').length > 3);
  const renewed = /^sluice_certificate_orders_total\{result="renewed"\} (\d+)$/m.exec((await dataplane.admin('GET', '/metrics')).text);
  assert.ok(Number(renewed?.[1]) >= 3, `${renewed?.[0]}`);
  const { workers } = JSON.parse((await dataplane.admin('GET', '/status')).text) as { workers: { restarts: number } };
  assert.equal(workers.restarts, 0);
});

test('if the authority rejects replaces, the order is repeated without it', { skip }, async () => {
  await using scene = await Scene.start({ validSecs: VALID_SECS });
  await using front = await RenewalFront.start(scene.folder, () => scene.pebble as Pebble);
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  await using dataplane = await scene.dataplane([], front);
  front.refuses = ({ replaces }) => (replaces === null ? null : 'alreadyReplaced');
  front.advise = () => (front.orders.length < 3 ? over() : later());
  await dataplane.route('shop.example.com', upstream.address);
  const serial = await until('the certificate', () => scene.kept('shop.example.com'));
  await until('another one', () => [scene.kept('shop.example.com')].find((now) => now !== null && now !== serial));
  const [first] = front.asked;
  assert.deepEqual(
    front.orders.map(({ replaces }) => replaces),
    [null, first, null],
  );
});

test('a failed renewal is reported while the old certificate is served', { skip }, async () => {
  await using scene = await Scene.start({ validSecs: VALID_SECS });
  await using front = await RenewalFront.start(scene.folder, () => scene.pebble as Pebble);
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  await using dataplane = await scene.dataplane([], front);
  front.advise = over;
  front.refuses = () => (front.orders.length === 0 ? null : 'rejectedIdentifier');
  await dataplane.route('shop.example.com', upstream.address);
  const serial = await until('the certificate', () => scene.kept('shop.example.com'));
  await dataplane.program.said(/the front says no/);
  const socket = await scene.shake('shop.example.com', await (scene.pebble as Pebble).root());
  assert.equal(serialOf(socket), serial);
  assert.match(await get(socket, 'shop.example.com'), /hello$/);
  const [line] = JSON.parse((await dataplane.admin('GET', '/certificates')).text) as Record<string, string>[];
  assert.equal(line?.serial, serial);
  assert.equal(line?.last_error, 'shop.example.com: the front says no');
  assert.ok(Date.parse(line?.next_try ?? '') > Date.now(), `${line?.next_try}`);
  const explained = await dataplane.admin('GET', `/explain?url=${encodeURIComponent('https://shop.example.com/')}`);
  assert.match((JSON.parse(explained.text) as { certificate: string }).certificate, /\(acme\); the last try failed: .*the front says no/);
});

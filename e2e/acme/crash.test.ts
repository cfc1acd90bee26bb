import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import type { Dataplane } from '../testing/dataplane.ts';
import { Upstream } from '../testing/upstream.ts';
import type { Pebble } from './testing/pebble.ts';
import { Scene } from './testing/scene.ts';

const skip = missing('pebble');
const NAME = 'shop.example.com';
const LIMITS = { skip };
const hello = () => Upstream.start('app', (_, response) => response.end('hello'));

/** How often the authority logged something. */
const timesLogged = (scene: Scene, what: string): number => (scene.pebble as Pebble).output.split(what).length - 1;
const orders = (scene: Scene): number => timesLogged(scene, 'Added order');
const certificates = (scene: Scene): number => timesLogged(scene, 'Issued certificate');
const notes = (scene: Scene): string[] => {
  const folder = scene.folder.file('certs/.orders');
  return existsSync(folder) ? readdirSync(folder) : [];
};

/** Waits for the certificate of a restarted data plane. */
async function settled(scene: Scene, dataplane: Dataplane): Promise<TLSSocket> {
  const root = await (scene.pebble as Pebble).root();
  const socket = await until('the certificate', () => scene.shake(NAME, root)).catch((error: unknown) => {
    throw new Error(`${error}\n${dataplane.program.output}\n${scene.pebble?.output}`);
  });
  await until('nothing to be left of the order', () => notes(scene).length === 0);
  return socket;
}

describe('kill -9 in the middle of an order', () => {
  /** What the authority has logged at the kill, and the total number of orders it gets: a validation without a response ends an order. */
  const STEPS = [
    ['while the name is checked', 'Starting 3 validations', 2],
    ['while the certificate is made', 'POST /finalize-order/', 1],
    ['after it was issued', 'Issued certificate serial', 1],
  ] as const;
  for (const [when, said, most] of STEPS)
    test(`${when}: the next start resumes the same order`, LIMITS, async () => {
      await using scene = await Scene.start();
      await using upstream = await hello();
      {
        await using killed = await scene.dataplane();
        await killed.route(NAME, upstream.address);
        await (scene.pebble as Pebble).said(said);
        await killed.program.kill('SIGKILL');
      }
      await using next = await scene.dataplane();
      (await settled(scene, next)).destroy();
      assert.equal(certificates(scene), 1);
      assert.ok(orders(scene) <= most, `${orders(scene)} orders`);
    });

  test('after the certificate was stored: nothing is ordered, and the saved order is deleted', LIMITS, async () => {
    await using scene = await Scene.start();
    await using upstream = await hello();
    const stored = () => ['cert.pem', 'key.pem'].every((name) => existsSync(scene.folder.file(`certs/acme/${NAME}/${name}`)));
    {
      await using killed = await scene.dataplane();
      await killed.route(NAME, upstream.address);
      await (scene.pebble as Pebble).said('Issued certificate serial');
      while (!stored()) await new Promise((resolve) => setImmediate(resolve));
      await killed.program.kill('SIGKILL');
    }
    await using next = await scene.dataplane();
    (await settled(scene, next)).destroy();
    assert.deepEqual([orders(scene), certificates(scene)], [1, 1]);
  });

  test('at any moment leads to one certificate, which a third start does not order again', LIMITS, async () => {
    await using scene = await Scene.start();
    await using upstream = await hello();
    {
      await using killed = await scene.dataplane();
      await killed.route(NAME, upstream.address);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 800));
      await killed.program.kill('SIGKILL');
    }
    let serial = '';
    for (let start = 0; start < 2; start++) {
      await using next = await scene.dataplane();
      const socket = await settled(scene, next);
      if (start === 1) assert.equal(socket.getPeerCertificate().serialNumber, serial);
      serial = socket.getPeerCertificate().serialNumber;
      socket.destroy();
      await next.program.kill('SIGKILL');
    }
    assert.ok(orders(scene) <= 2 && certificates(scene) <= 2, `${orders(scene)} orders`);
  });
});

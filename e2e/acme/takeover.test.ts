import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';
import type { Pebble } from './testing/pebble.ts';
import { Scene } from './testing/scene.ts';

const skip = missing('pebble');

test('a takeover during orders does not place any order twice', { skip }, async () => {
  await using scene = await Scene.start({ slow: true });
  const pebble = scene.pebble as Pebble;
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  const names = ['a.example.com', 'b.example.com', 'c.example.com'];
  await using old = await scene.dataplane();
  for (const name of names) await old.route(name, upstream.address);
  await until('the checks to be under way', () => pebble.output.includes('Starting 3 validations'));
  await using next = await scene.dataplane(['--takeover']);
  assert.equal((await old.program.exited).code, 0);
  const root = await pebble.root();
  for (const name of names)
    await until(name, () => scene.shake(name, root).then((socket) => socket.destroy())).catch((error: unknown) => {
      throw new Error(`${error}\n${old.program.output}\n${next.program.output}\n${pebble.output}`);
    });
  const count = (what: string): number => pebble.output.split(what).length - 1;
  assert.deepEqual([count('Added order'), count('Issued certificate')], [names.length, names.length]);
});

test('a takeover while the authority validates a name over TLS-ALPN-01 does not make it fail', { skip }, async () => {
  await using scene = await Scene.start({ httpPort: await freePort(), slow: true });
  const pebble = scene.pebble as Pebble;
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  await using old = await scene.dataplane();
  await old.route('a.example.com', upstream.address);
  const count = (what: string): number => pebble.output.split(what).length - 1;
  // Nobody listens on port 80, so the first is over HTTP, and the second over TLS.
  await until('the second check to be under way', () => count('Starting 3 validations') === 2);
  await using next = await scene.dataplane(['--takeover']);
  assert.equal((await old.program.exited).code, 0);
  const root = await pebble.root();
  await until('the certificate', () => scene.shake('a.example.com', root).then((socket) => socket.destroy()));
  assert.equal(count('Added order'), 2, next.program.output);
});

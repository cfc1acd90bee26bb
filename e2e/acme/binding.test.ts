import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { missing } from '../components.ts';
import { Upstream } from '../testing/upstream.ts';
import type { Pebble } from './testing/pebble.ts';
import { Scene } from './testing/scene.ts';

const skip = missing('pebble');
const LIMITS = { skip };
const KEY = 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA';
const NAME = 'shop.example.com';

describe('an authority that requires external account binding', () => {
  const start = () => Scene.start({ binding: { 'kid-1': KEY } });

  test('issues certificates with the right key', LIMITS, async () => {
    await using scene = await start();
    await using dataplane = await scene.dataplane(['--acme-eab', `kid-1:${KEY}`]);
    await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
    await dataplane.route(NAME, upstream.address);
    (await scene.shake(NAME, await (scene.pebble as Pebble).root())).destroy();
  });

  test('rejects a wrong, unknown or missing key with a message that names the flag', LIMITS, async () => {
    await using scene = await start();
    await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
    for (const flags of [['--acme-eab', 'kid-1:b3RoZXItb3RoZXItb3RoZXI'], ['--acme-eab', `kid-2:${KEY}`], []]) {
      await using dataplane = await scene.dataplane(flags);
      await dataplane.route(NAME, upstream.address);
      await dataplane.program.said(/refused to create an account: .*--acme-eab KID:KEY/);
      assert.doesNotMatch(dataplane.program.output, new RegExp(KEY));
      await dataplane.program.kill();
    }
  });
});

test('certificates are issued even if validation takes seconds and a sixth of valid nonces are rejected', LIMITS, async () => {
  await using scene = await Scene.start({ slow: true, rejectedNonces: 16 });
  await using dataplane = await scene.dataplane();
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  const names = [NAME, 'www.example.com', 'api.example.com'];
  for (const name of names) await dataplane.route(name, upstream.address);
  const root = await (scene.pebble as Pebble).root();
  // The first handshakes wait for it.
  for (const name of names) (await scene.shake(name, root)).destroy();
});

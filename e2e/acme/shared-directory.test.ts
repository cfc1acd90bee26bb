import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Dataplane, frame, NDJSON } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';
import type { Pebble } from './testing/pebble.ts';
import { Scene } from './testing/scene.ts';

const skip = missing('pebble');

test('data planes that share a certificate directory order each name once and answer each other’s challenges', {
  skip,
}, async () => {
  await using scene = await Scene.start();
  const pebble = scene.pebble as Pebble;
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  // The authority only connects to the first one.
  await using first = await scene.dataplane();
  const httpsPort = await freePort();
  await using second = await Dataplane.start({
    stateDir: scene.folder.file('other-state'),
    httpPort: await freePort(),
    flags: [
      ...['--https-port', `${httpsPort}`, '--cert-dir', scene.folder.file('certs'), '--acme-email', 'ops@example.com'],
      ...['--acme-directory', pebble.directory, '--acme-ca-root', pebble.rootPath],
    ],
  });
  await until('both to know of each other', () => readdirSync(scene.folder.file('certs/.instances')).length === 2);
  const names = Array.from({ length: 6 }, (_, at) => `site-${at}.example.com`);
  const whole = frame(
    1,
    names.map((domain) => ({ domain, upstream: upstream.address })),
  );
  for (const dataplane of [second, first]) assert.equal((await dataplane.admin('POST', '/routes', whole, NDJSON)).status, 200);
  const root = await pebble.root();
  for (const port of [scene.httpsPort, httpsPort])
    for (const name of names) await until(`${name} at ${port}`, () => scene.shake(name, root, port).then((socket) => socket.destroy()));
  const ordered = pebble.output.split('Issued certificate').length - 1;
  assert.equal(ordered, names.length, `${first.program.output}\n${second.program.output}`);
  assert.deepEqual(readdirSync(scene.folder.file('certs/.challenges')), []);
});

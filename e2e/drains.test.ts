import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dataplane, Folder } from './harness/dataplane.ts';
import { until } from './harness/until.ts';
import { Upstream } from './harness/upstream.ts';

test('SIGTERM lets an answer under way finish, takes no more connections, and ends with 0', async () => {
  using folder = new Folder();
  const held: (() => void)[] = [];
  await using upstream = await Upstream.start('slow', (_, response) => {
    response.write('first ');
    held.push(() => response.end('last'));
  });
  await using dataplane = await Dataplane.start({ stateDir: folder.path });
  await dataplane.route('slow.test', upstream.address);
  const answer = dataplane.visit('slow.test');
  await until('the request to be under way', () => held.length === 1);
  const exit = dataplane.program.kill('SIGTERM');
  await until('new connections to be refused', () =>
    dataplane.visit('unrouted.test').then(
      () => false,
      (error: Error) => error.message.includes('ECONNREFUSED'),
    ),
  );
  held[0]?.();
  assert.equal((await answer).text, 'first last');
  assert.deepEqual(await exit, { code: 0, signal: null });
});

test('a second SIGTERM ends at once', async () => {
  using folder = new Folder();
  let asked = false;
  await using upstream = await Upstream.start('silent', () => {
    asked = true;
  });
  await using dataplane = await Dataplane.start({ stateDir: folder.path });
  await dataplane.route('slow.test', upstream.address);
  const answer = dataplane.visit('slow.test').catch((error: Error) => error);
  await until('the request to be under way', () => asked);
  dataplane.program.child.kill('SIGTERM');
  await dataplane.program.said('draining');
  assert.equal((await dataplane.program.kill('SIGTERM')).code, 1);
  assert.ok((await answer) instanceof Error, 'nobody pretends that the answer was whole');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { Upstream } from '../testing/upstream.ts';

test('every worker serves a posted route when its 201 arrives, and none when the response to its DELETE arrives', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('one');
  await using dataplane = await Dataplane.start({ stateDir: folder.path, workers: 4 });
  for (let round = 0; round < 10; round++) {
    const domain = `round-${round}.test`;
    await dataplane.route(domain, upstream.address);
    // The kernel distributes new connections over all workers.
    const served = await Promise.all(Array.from({ length: 24 }, () => dataplane.visit(domain)));
    assert.deepEqual([...new Set(served.map(({ status }) => status))], [200]);
    assert.equal((await dataplane.admin('DELETE', `/routes/${domain}`)).status, 200);
    const gone = await Promise.all(Array.from({ length: 24 }, () => dataplane.visit(domain)));
    assert.deepEqual([...new Set(gone.map(({ status }) => status))], [404]);
  }
});

test('a route confirmed with 201 survives kill -9 and is served without a controller', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('one');
  {
    await using dataplane = await Dataplane.start({ stateDir: folder.path });
    await dataplane.route('kept.test', upstream.address);
    await dataplane.program.kill('SIGKILL');
  }
  await using again = await Dataplane.start({ stateDir: folder.path });
  assert.equal((await again.visit('kept.test')).status, 200);
  assert.equal((await again.admin('GET', '/ready')).status, 200);
});

test('a garbage table file is renamed, logged, and never prevents startup', async () => {
  using folder = new Folder();
  const { writeFileSync, readdirSync } = await import('node:fs');
  writeFileSync(folder.file('routes.db'), 'this is no database, and long enough to look like one'.repeat(100));
  await using upstream = await Upstream.start('one');
  await using dataplane = await Dataplane.start({ stateDir: folder.path });
  const aside = readdirSync(folder.path).find((name) => name.startsWith('routes.db.corrupt-'));
  assert.ok(aside, 'the damaged file is kept');
  await dataplane.program.said(aside);
  await dataplane.route('after.test', upstream.address);
  assert.equal((await dataplane.visit('after.test')).status, 200);
});

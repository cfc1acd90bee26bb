import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { Upstream } from '../testing/upstream.ts';

describe('a data plane that starts with a garbage table file', () => {
  const folder = new Folder();
  let upstream: Upstream;
  let dataplane: Dataplane;
  before(async () => {
    writeFileSync(folder.file('routes.db'), 'this is no database, and long enough to look like one'.repeat(100));
    upstream = await Upstream.start('one');
    dataplane = await Dataplane.start({ stateDir: folder.path, workers: 4 });
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    await upstream?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('renames and logs it, and serves', async () => {
    const aside = readdirSync(folder.path).find((name) => name.startsWith('routes.db.corrupt-'));
    assert.ok(aside, 'the damaged file is kept');
    await dataplane.program.said(aside);
    await dataplane.route('after.test', upstream.address);
    assert.equal((await dataplane.visit('after.test')).status, 200);
  });

  test('serves a posted route in every worker when its 201 arrives, and in none when the response to its DELETE arrives', async () => {
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

  // The last: it ends the data plane.
  test('has a route confirmed with 201 after kill -9, and serves it without a controller', async () => {
    await dataplane.route('kept.test', upstream.address);
    await dataplane.program.kill('SIGKILL');
    await using again = await Dataplane.start({ stateDir: folder.path });
    assert.equal((await again.visit('kept.test')).status, 200);
    assert.equal((await again.admin('GET', '/ready')).status, 200);
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Upstream } from '../testing/upstream.ts';
import type { Pebble } from './testing/pebble.ts';
import { Scene } from './testing/scene.ts';

const skip = missing('pebble') || (process.getuid?.() !== 0 && 'mounts a disk, as root');
const NAME = 'shop.example.com';
/** The size of the files that an order writes. */
const PAGE = 4_096;

/** The account, the order and its challenge, and the certificate don't fit. */
for (const pages of [3, 4, 5, 6])
  test(`a disk with space for ${pages} more files costs no order and no account, and the certificate comes when there is space`, {
    skip,
  }, async () => {
    await using scene = await Scene.start({ rejectedNonces: 0 });
    const certs = scene.folder.file('certs');
    mkdirSync(certs);
    assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', certs]).status, 0);
    try {
      await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
      await using dataplane = await scene.dataplane();
      const ballast = `${certs}/.ballast`;
      assert.match(spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, `bs=${PAGE}`], { encoding: 'utf8' }).stderr, /No space left/);
      truncateSync(ballast, statSync(ballast).size - pages * PAGE);
      await dataplane.route(NAME, upstream.address);
      const said = (what: string): number => dataplane.program.output.split(what).length - 1;
      const retry = async () => assert.equal((await dataplane.admin('POST', `/certificates/${NAME}`)).status, 202);
      await until('an outcome', () => said('certificate issued') + said('no certificate') > 0);
      for (let failures = 1; failures < 3 && said('certificate issued') === 0; failures++) {
        assert.match(dataplane.program.output, /certificate directory can't be used \(the disk is full.*free some space/);
        await retry();
        await until('another outcome', () => said('certificate issued') > 0 || said('no certificate') > failures);
      }
      rmSync(ballast);
      if (said('certificate issued') === 0) await retry();
      (await until('the certificate', async () => scene.shake(NAME, await (scene.pebble as Pebble).root()))).destroy();
      await until('the order to end', () => said('certificate issued') > 0);
      const [record] = JSON.parse((await dataplane.admin('GET', '/certificates')).text) as { last_error: string | null }[];
      assert.equal(record?.last_error, null);
      const { output } = scene.pebble as Pebble;
      assert.deepEqual(output.match(/There are now \d+ accounts/g), ['There are now 1 accounts'], dataplane.program.output);
      for (const what of ['Added order', 'Issued certificate']) assert.equal(output.split(what).length, 2, dataplane.program.output);
    } finally {
      spawnSync('umount', [certs]);
    }
  });

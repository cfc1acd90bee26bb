import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Dataplane, Folder, frame, NDJSON } from '../testing/dataplane.ts';
import { Upstream } from '../testing/upstream.ts';

test('a full disk during a save is answered with 503 and no partial change, and saving works again when there is space', async (context) => {
  using folder = new Folder();
  const disk = folder.file('disk');
  mkdirSync(disk);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'none', disk]).status !== 0) {
    if (process.env.CI === 'true') assert.fail('a small file system could not be mounted');
    return context.skip('needs permission to mount a small file system');
  }
  try {
    await using upstream = await Upstream.start('one');
    await using dataplane = await Dataplane.start({ stateDir: disk });
    await dataplane.route('before.test', upstream.address);
    const ballast = `${disk}/ballast`;
    const { stderr } = spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4k'], { encoding: 'utf8' });
    assert.match(stderr, /No space left/);

    const many = Array.from({ length: 2_000 }, (_, index) => ({ domain: `many-${index}.test`, upstream: upstream.address }));
    const refused = await dataplane.admin('POST', '/routes', frame(1, many), NDJSON);
    assert.equal(refused.status, 503);
    assert.match(refused.text, /^\{"error":"not saved: /);
    assert.equal((await dataplane.visit('many-0.test')).status, 404);
    assert.equal((await dataplane.visit('many-1999.test')).status, 404);
    assert.equal((await dataplane.visit('before.test')).status, 200);

    rmSync(ballast);
    await dataplane.route('after.test', upstream.address);
    assert.equal((await dataplane.visit('after.test')).status, 200);
    assert.equal(JSON.parse((await dataplane.admin('GET', '/routes')).text).length, 2);
  } finally {
    spawnSync('umount', [disk]);
    writeFileSync(`${disk}/unmounted`, '');
  }
});

import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type DiskFs, systemFs } from './disk-fs.ts';
import { Disk, textEntry } from './testing/disk.ts';

const REST_MS = 30_000;

/** A system call that fails while `on` says so. */
function failing(code: string) {
  const switched = { on: false };
  const broken = <F extends (...args: never[]) => unknown>(call: F): F =>
    ((...args: Parameters<F>) => {
      if (switched.on) throw Object.assign(new Error(`${code}: injected`), { code });
      return call(...args);
    }) as F;
  return { switched, broken };
}

/** The calls that a full or broken disk refuses. */
const WRITING = [
  'openSync',
  'writeSync',
  'renameSync',
  'closeSync',
  'mkdirSync',
  'statfsSync',
] as const satisfies readonly (keyof DiskFs)[];

for (const code of ['ENOSPC', 'EIO', 'EROFS'])
  for (const call of WRITING)
    test(`a disk whose ${call} fails with ${code} is left alone for a while, and used again later`, () => {
      using disk = new Disk();
      const { switched, broken } = failing(code);
      const process = disk.open({ [call]: broken(systemFs[call] as never) }).write(textEntry('/before', 'x'));
      switched.on = true;
      for (const target of ['/a', '/b']) process.write(textEntry(target, 'x'.repeat(300_000)));
      assert.deepEqual(process.outcomes(), ['written', 'dropped', 'dropped']);
      assert.equal(process.state.failure, `${code}: injected`);
      disk.clock.pass(REST_MS);
      process.state;
      assert.ok(process.logged.length <= 1, 'logged once');
      switched.on = false;
      disk.clock.pass(REST_MS);
      assert.equal(process.state.failure, null);
      process.write(textEntry('/after', 'x'));
      assert.deepEqual([process.texts('/before'), process.texts('/after')], [['x'], ['x']]);
      assert.deepEqual(readdirSync(join(disk.path, 'v1/writing')), []);
    });

test('readable files are read while nothing can be written', () => {
  using disk = new Disk();
  const { switched, broken } = failing('ENOSPC');
  const process = disk.open({ writeSync: broken(systemFs.writeSync as never) }).write(textEntry('/a', 'x'));
  switched.on = true;
  process.write(textEntry('/b', 'x')).write(textEntry('/a', 'newer'));
  assert.deepEqual([process.texts('/a'), process.texts('/b')], [[], []], 'an older response than the newest is not served');
  assert.deepEqual(disk.files(), []);
});

test('a file that can not be read is not served, and the disk rests', () => {
  using disk = new Disk();
  const { switched, broken } = failing('EIO');
  const process = disk.open({ readSync: broken(systemFs.readSync as never) }).write(textEntry('/a', 'x'));
  switched.on = true;
  assert.deepEqual([process.read('/a'), process.state.failure], [[], 'EIO: injected']);
});

test('too many open files do not cost a stored response', () => {
  using disk = new Disk();
  const { switched, broken } = failing('EMFILE');
  const process = disk.open({ openSync: broken(systemFs.openSync as never) }).write(textEntry('/a', 'x'));
  switched.on = true;
  assert.deepEqual(process.read('/a'), []);
  const next = disk.open({ openSync: broken(systemFs.openSync as never) }).run();
  assert.deepEqual(next.read('/a'), []);
  switched.on = false;
  assert.deepEqual(process.texts('/a'), ['x']);
  disk.clock.pass(REST_MS);
  next.state;
  assert.deepEqual(next.run().texts('/a'), ['x']);
});

test('a folder that can not be used is tried again, and one that was removed is created again', () => {
  using disk = new Disk();
  writeFileSync(join(disk.path, 'v1'), 'a file');
  const process = disk.open().run();
  assert.match(process.state.failure ?? '', /ENOTDIR/);
  assert.deepEqual([process.write(textEntry('/a', 'x')).read('/a'), process.outcomes()], [[], ['dropped']]);
  rmSync(join(disk.path, 'v1'));
  disk.clock.pass(REST_MS);
  assert.equal(process.state.failure, null);
  assert.deepEqual(process.write(textEntry('/a', 'x')).texts('/a'), ['x']);
  rmSync(join(disk.path, 'v1'), { recursive: true });
  assert.deepEqual(process.read('/a'), []);
  process.write(textEntry('/b', 'x'));
  disk.clock.pass(REST_MS);
  process.state;
  assert.deepEqual(process.write(textEntry('/b', 'y')).texts('/b'), ['y']);
});

for (const removed of ['v1', '.'])
  test(`a purge is confirmed, and the disk still used, after someone has removed the files: rm -r ${removed}`, () => {
    using disk = new Disk();
    const process = disk.open().run();
    for (const target of ['/a', '/b']) process.write(textEntry(target, 'x'));
    rmSync(join(disk.path, removed), { recursive: true });
    const purge = (target: string) => process.purge({ kind: 'target', host: 'a.test', target });
    assert.equal(purge('/a').saved, true);
    assert.equal(process.state.failure, null);
    process.write(textEntry('/c', 'x'));
    disk.clock.pass(REST_MS);
    process.state;
    assert.deepEqual(process.write(textEntry('/c', 'y')).texts('/c'), ['y']);
    assert.deepEqual([purge('/b').saved, purge('/c').saved, process.state.failure], [true, true, null]);
  });

test('a full disk gets a sixteenth of the files back each time that it is tried', () => {
  using disk = new Disk();
  let free = 1_000_000;
  const process = disk.open({ statfsSync: (() => ({ bavail: free, bsize: 4_096 })) as never }).run();
  for (let at = 0; at < 32; at++) process.write(textEntry(`/${at}`, 'x'.repeat(5_000)));
  free = 1_000;
  process.write(textEntry('/more', 'x')).write(textEntry('/again', 'x'));
  assert.equal(process.state.entries, 30);
  disk.clock.pass(REST_MS);
  process.state;
  assert.deepEqual([process.run().state.entries, disk.files().length], [29, 29]);
  free = 1_000_000;
  disk.clock.pass(REST_MS);
  assert.equal(process.state.failure, null);
  process.write(textEntry('/more', 'x'));
  assert.deepEqual(process.texts('/more'), ['x']);
});

test('a nearly full disk is left to others', () => {
  using disk = new Disk();
  const process = disk.open({ statfsSync: (() => ({ bavail: 1_000, bsize: 4_096 })) as never }).write(textEntry('/a', 'x'));
  assert.deepEqual([process.outcomes(), process.state.failure], [['dropped'], 'less than 64 MB of the disk are free']);
});

test('a purge that can not delete files is not confirmed, nothing of it is served, and the files are deleted later', () => {
  using disk = new Disk();
  const { switched, broken } = failing('EROFS');
  const process = disk.open({ unlinkSync: broken(systemFs.unlinkSync as never) }).write(textEntry('/a', 'x'));
  switched.on = true;
  const purge = { kind: 'target', host: 'a.test', target: '/a' } as const;
  assert.deepEqual({ ...process.purge(purge) }, { kind: 'purged', id: 1, count: 1, saved: false });
  assert.deepEqual([process.read('/a'), disk.files().length], [[], 1]);
  switched.on = false;
  disk.clock.pass(REST_MS);
  process.state;
  assert.deepEqual([process.purge(purge).saved, disk.files()], [true, []]);
  assert.ok(!existsSync(join(disk.path, 'purges')));
});

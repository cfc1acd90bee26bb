import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import { DiskFolder } from '../disk-folder.ts';
import { systemFs } from '../disk-fs.ts';
import { Disk, textEntry } from '../testing/disk.ts';
import { removeFiles } from './remove-files.ts';

const OTHERS = ['lost+found', 'old-photos', 'photos'];

/** A disk with the files of the cache, and with others. */
function sharedDisk(): Disk {
  const disk = new Disk();
  const process = disk.open().run().write(textEntry('/a', 'x'));
  process.store.handle({ kind: 'release' });
  process.purge({ kind: 'target', host: 'a.test', target: '/a' });
  process.store.handle({ kind: 'close' });
  for (const name of OTHERS) {
    mkdirSync(join(disk.path, name));
    writeFileSync(join(disk.path, name, 'file'), 'x');
  }
  return disk;
}

test('a start without a cache on disk deletes the files of the cache, and nothing else on a disk that it is linked to', async () => {
  using disk = sharedDisk();
  const stateDir = mkdtempSync(join(tmpdir(), 'sluice-state-'));
  symlinkSync(disk.path, join(stateDir, 'cache'));
  const logged: unknown[] = [];
  const at = (...about: unknown[]): void => void logged.push(about);
  const log: Log = { debug: at, info: at, warn: at, error: at, fatal: at };
  await removeFiles(stateDir, 0, log);
  assert.deepEqual(readdirSync(disk.path), OTHERS);
  assert.deepEqual(readdirSync(stateDir), ['cache']);
  rmSync(join(stateDir, 'cache'));
  mkdirSync(join(stateDir, 'cache/v1/00'), { recursive: true });
  await removeFiles(stateDir, 0, log);
  assert.deepEqual([readdirSync(stateDir), logged], [[], []]);
  rmSync(stateDir, { recursive: true });
});

test('what earlier processes left behind is deleted, and nothing else', () => {
  using disk = sharedDisk();
  for (const name of ['v0/00', 'old-0123456789abcdef/00', 'old-12-1700000000000-v1']) mkdirSync(join(disk.path, name), { recursive: true });
  for (const _ of new DiskFolder(disk.path, systemFs).leftovers());
  assert.deepEqual(
    readdirSync(disk.path).filter((name) => !name.startsWith('purges')),
    [...OTHERS, 'v1'],
  );
});

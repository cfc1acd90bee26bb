import assert from 'node:assert/strict';
import fs, { type BigIntStats } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { site, started } from './testing/file-source.ts';
import { COARSE_MS } from './watching/found-files.ts';

/** A file system that counts seconds, all of which are the same one: ext3, FAT, some file servers. */
function withCoarseTimes(t: TestContext): void {
  const { lstatSync } = fs;
  const second = BigInt(Math.floor(Date.now() / 1_000));
  const times = { mtimeNs: second * 1_000_000_000n, ctimeNs: second * 1_000_000_000n, mtimeMs: second * 1_000n, ctimeMs: second * 1_000n };
  const coarse = (...args: Parameters<typeof lstatSync>) => {
    const entry = lstatSync(...args) as BigIntStats | undefined;
    return entry && Object.assign(entry, times);
  };
  t.mock.method(fs, 'lstatSync', coarse);
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

test('a file is saved twice within a tick of its file system, with the same length: the second content is read, too', async (t) => {
  withCoarseTimes(t);
  const { path, next, rest } = await started(t);
  await writeFile(path, site('two'));
  assert.equal((await next()).gist, 'two.example');
  // Not a single snapshot more if nothing was hidden.
  await wait(COARSE_MS * 1.5);
  assert.deepEqual(rest(), []);
});

test('an import is saved within the same tick as it was read', async (t) => {
  withCoarseTimes(t);
  const { directory, path, next } = await started(t);
  await writeFile(join(directory, 'more'), site('abc'));
  await writeFile(path, 'import more\n');
  assert.equal((await next()).gist, 'abc.example');
  await writeFile(join(directory, 'more'), site('xyz'));
  assert.equal((await next()).gist, 'xyz.example');
});

import assert from 'node:assert/strict';
import fs, { type BigIntStats } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { site, started } from './testing/file-source.ts';
import { steppedClock } from './testing/stepped-clock.ts';
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
  const { clock, pass, waitsFor } = steppedClock();
  const { path, source, next, rest } = await started(t, clock);
  await writeFile(path, site('two'));
  await waitsFor(COARSE_MS);
  pass(COARSE_MS);
  assert.equal((await next()).gist, 'two.example');
  // Not a single snapshot more if nothing was hidden. The reload comes after the second look.
  await waitsFor(COARSE_MS);
  pass(COARSE_MS);
  await source.reload();
  assert.deepEqual(rest(), ['two.example']);
});

test('an import is saved within the same tick as it was read', async (t) => {
  withCoarseTimes(t);
  const { clock, pass, waitsFor } = steppedClock();
  const { directory, path, next } = await started(t, clock);
  await writeFile(join(directory, 'more'), site('abc'));
  await writeFile(path, `${site('one')}import more\n`);
  assert.equal((await next()).gist, 'one.example abc.example');
  await writeFile(join(directory, 'more'), site('xyz'));
  await waitsFor(COARSE_MS);
  pass(COARSE_MS);
  assert.equal((await next()).gist, 'one.example xyz.example');
});

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FRESH, replacePrivate, writeFresh, writePrivate } from './private-file.ts';

/** A folder with a link planted under the name of a file that is about to be written. */
function planted(t: TestContext, name: string) {
  const folder = mkdtempSync(join(tmpdir(), 'planted-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const victim = join(folder, 'victim');
  writeFileSync(victim, 'precious', { mode: 0o644 });
  symlinkSync(victim, join(folder, name));
  return {
    folder,
    path: join(folder, name),
    isUntouched: () => assert.deepEqual([readFileSync(victim, 'utf8'), statSync(victim).mode & 0o777], ['precious', 0o644]),
  };
}

for (const [what, write] of [
  ['a private file', (path: string) => writePrivate(path, 'ours')],
  ['a new file', async (path: string) => writeFresh(path, 'ours', 0o600)],
  ['a file that replaces another', async (path: string) => replacePrivate(`${path}.final`, path, 'ours')],
] as const)
  test(`a planted link is removed and not followed by ${what}`, async (t) => {
    const { folder, path, isUntouched } = planted(t, 'root.crt.new');
    await write(path);
    isUntouched();
    const written = what.includes('replaces') ? `${path}.final` : path;
    assert.deepEqual([readFileSync(written, 'utf8'), statSync(written).mode & 0o777], ['ours', 0o600], folder);
  });

test('a link planted between the check and the write is rejected', async (t) => {
  const { path, isUntouched } = planted(t, 'x.new');
  await assert.rejects(open(path, FRESH, 0o600), { code: 'EEXIST' });
  isUntouched();
});

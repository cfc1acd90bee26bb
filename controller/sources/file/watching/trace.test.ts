import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { MISSING, trace } from './trace.ts';

async function temporary(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'trace-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

/** The state of one path, and the names of the directories to watch for it, relative to `directory`. */
function traced(directory: string, name: string) {
  const path = join(directory, name);
  const { found, directories } = trace([path]);
  const seen = found.get(path);
  assert.ok(seen);
  return { ...seen, watched: [...directories.values()].map((one) => one.slice(directory.length + 1) || '.').sort() };
}

test('a file is watched through its directory, a directory also through itself', async (t) => {
  const directory = await temporary(t);
  await mkdir(join(directory, 'a/b'), { recursive: true });
  await writeFile(join(directory, 'a/b/x'), '');
  assert.deepEqual(traced(directory, 'a/b/x').watched, ['a/b']);
  assert.deepEqual(traced(directory, 'a/b').watched, ['a', 'a/b']);
});

test('every link on the path is watched in its own directory', async (t) => {
  const directory = await temporary(t);
  await mkdir(join(directory, 'real/conf'), { recursive: true });
  await writeFile(join(directory, 'real/conf/x'), '');
  await mkdir(join(directory, 'links'));
  await symlink('../real', join(directory, 'links/current'));
  await symlink('links/current/conf/x', join(directory, 'x'));
  const { identity, watched } = traced(directory, 'x');
  assert.deepEqual(watched, ['.', 'links', 'real/conf']);
  assert.equal(identity, traced(directory, 'real/conf/x').identity);
});

test('a missing file is watched where it would appear', async (t) => {
  const directory = await temporary(t);
  const far = traced(directory, 'a/b/x');
  assert.deepEqual([far.identity, far.within, far.watched], [MISSING, null, ['.']]);
  await mkdir(join(directory, 'a/b'), { recursive: true });
  const near = traced(directory, 'a/b/x');
  assert.deepEqual([near.identity, near.watched], [MISSING, ['a/b']]);
  assert.notEqual(near.within, null);
});

test('circular links lead nowhere and end', async (t) => {
  const directory = await temporary(t);
  await symlink('b', join(directory, 'a'));
  await symlink('a', join(directory, 'b'));
  assert.equal(traced(directory, 'a').identity, MISSING);
  assert.equal(traced(directory, 'a/x').identity, MISSING);
});

test('a directory replaced by one with the same name is a different one', async (t) => {
  const directory = await temporary(t);
  await mkdir(join(directory, 'a'));
  const before = traced(directory, 'a/x');
  await rm(join(directory, 'a'), { recursive: true });
  await mkdir(join(directory, 'a'));
  assert.notEqual(traced(directory, 'a/x').within, before.within);
});

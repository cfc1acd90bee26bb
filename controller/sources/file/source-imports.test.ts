import assert from 'node:assert/strict';
import { mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { MISSING_MS } from './source.ts';
import { follow, site, temporary, withoutPolls } from './testing/file-source.ts';
import { steppedClock } from './testing/stepped-clock.ts';
import { REST_MS } from './watching/incomplete.ts';

/** A running source for a file with these imports, after its first snapshot; `at` and `write` take paths relative to the file. */
async function importing(t: TestContext, files: Readonly<Record<string, string>>, clock = withoutPolls) {
  const directory = await temporary(t);
  const at = (name: string) => join(directory, name);
  await mkdir(at('sites'));
  const write = (name: string, content: string) => writeFile(at(name), content);
  for (const [name, content] of Object.entries(files)) await write(name, content);
  const following = follow(t, at('Sluicefile'), clock);
  const first = await following.next();
  return { at, write, first: first.gist, ...following };
}

const ALL = { Sluicefile: 'import sites/*\n', 'sites/a': site('a'), 'sites/b': site('b') };

test('a change of an imported file is notified', async (t) => {
  const { write, first, next } = await importing(t, ALL);
  assert.equal(first, 'a.example b.example');
  await write('sites/b', site('b') + site('c'));
  assert.equal((await next()).gist, 'a.example b.example c.example');
});

test('a new file that matches a pattern is notified, and a deleted one after a grace period', async (t) => {
  const { clock, pass, waitsFor } = steppedClock();
  const { at, write, next, rest } = await importing(t, ALL, clock);
  await write('sites/c', site('c'));
  assert.equal((await next()).gist, 'a.example b.example c.example');
  await unlink(at('sites/a'));
  await waitsFor(MISSING_MS);
  assert.deepEqual(rest(), []);
  pass(MISSING_MS);
  assert.equal((await next()).gist, 'b.example c.example');
});

test('an imported file saved by deleting and rewriting is never reported missing', async (t) => {
  const { clock, pass, waitsFor } = steppedClock();
  const { at, write, next, rest } = await importing(t, ALL, clock);
  await unlink(at('sites/a'));
  await waitsFor(MISSING_MS);
  pass(1);
  await write('sites/b', site('also'));
  await waitsFor(MISSING_MS - 1);
  pass(1);
  assert.deepEqual(rest(), []);
  await write('sites/a', site('back'));
  await waitsFor(REST_MS);
  pass(REST_MS);
  assert.equal((await next()).gist, 'back.example also.example');
});

test('an added import is followed from then on, and a removed one no longer', async (t) => {
  const { clock, pass, waitsFor } = steppedClock();
  const { write, next, rest } = await importing(t, { ...ALL, Sluicefile: 'import sites/a\n' }, clock);
  await write('Sluicefile', 'import sites/b\n');
  await waitsFor(REST_MS);
  pass(REST_MS);
  assert.equal((await next()).gist, 'b.example');
  await write('sites/b', site('b') + site('two'));
  assert.equal((await next()).gist, 'b.example two.example');
  await write('sites/a', site('unheard'));
  await wait(300);
  assert.deepEqual(rest(), []);
});

test('a missing import is a failure, and is listed once it exists', async (t) => {
  const { at, first, next } = await importing(t, { Sluicefile: 'import deep/down/x\n' });
  assert.match(first, /^failed: .*Sluicefile:1:8: .*deep\/down\/x/);
  await mkdir(at('deep/down'), { recursive: true });
  await writeFile(at('deep/down/x'), site('x'));
  assert.equal((await next()).gist, 'x.example');
});

test('a half-written import is a failure at its own line, and the complete one is listed', async (t) => {
  const { write, next } = await importing(t, ALL);
  await write('sites/b', 'b.example {\n  respond "b');
  assert.match((await next()).gist, /^failed: .*sites\/b:\d/);
  await write('sites/b', site('b'));
  assert.equal((await next()).gist, 'a.example b.example');
});

test('a directory of imports that is replaced is never reported missing, and is watched again', async (t) => {
  const { clock, pass, waitsFor } = steppedClock();
  const { at, write, next, rest } = await importing(t, ALL, clock);
  await rm(at('sites'), { recursive: true });
  await waitsFor(MISSING_MS);
  pass(1);
  assert.deepEqual(rest(), []);
  await mkdir(at('new'));
  await write('new/a', site('a'));
  await rename(at('new'), at('sites'));
  assert.equal((await next()).gist, 'a.example');
  await write('sites/a', site('again'));
  await waitsFor(REST_MS);
  pass(REST_MS);
  assert.equal((await next()).gist, 'again.example');
});

test('a swapped link adds and removes imports at once', async (t) => {
  const directory = await temporary(t);
  const at = (name: string) => join(directory, name);
  for (const [name, ...sites] of [
    ['..one', 'a', 'b'],
    ['..two', 'b', 'c'],
  ] as const) {
    await mkdir(at(`${name}/sites`), { recursive: true });
    await writeFile(at(`${name}/Sluicefile`), 'import sites/*\n');
    for (const each of sites) await writeFile(at(`${name}/sites/${each}`), site(each));
  }
  await symlink('..one', at('..data'));
  const { next } = follow(t, at('..data/Sluicefile'), withoutPolls);
  assert.equal((await next()).gist, 'a.example b.example');
  await symlink('..two', at('..tmp'));
  await rename(at('..tmp'), at('..data'));
  assert.equal((await next()).gist, 'b.example c.example');
});

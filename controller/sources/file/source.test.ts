import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { mkdir, rename, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { createFileSource, MISSING_MS, POLL_MS } from './source.ts';
import { follow, gist, LONG_MS, site, started, temporary, withoutPolls } from './testing/file-source.ts';
import { steppedClock } from './testing/stepped-clock.ts';
import { REST_MS } from './watching/incomplete.ts';

test('the file is listed at the start, with its source, its settings and its warnings', async (t) => {
  const directory = await temporary(t);
  const path = join(directory, 'Sluicefile');
  await writeFile(path, '{ http_port 8080 }\na.example {\n  respond ok\n  header X-A 1\n  header X-A 2\n}\n');
  const snapshot = await createFileSource({ path, clock: systemClock, log: memoryLog(), env: {} }).reload();
  assert.ok(snapshot.kind === 'listed');
  assert.equal(snapshot.source, 'file');
  assert.deepEqual(snapshot.settings, { http_port: 8080 });
  assert.deepEqual(
    snapshot.routes.map(({ domain, source, origin }) => ({ domain, source, origin })),
    [{ domain: 'a.example', source: 'file', origin: `${path}:2` }],
  );
  const [problem] = snapshot.problems;
  assert.equal(problem?.origin, `${path}:5`);
  assert.equal(problem?.code, 'config_warning');
});

test('a write in place is notified', async (t) => {
  const { path, next } = await started(t, withoutPolls);
  await writeFile(path, site('one') + site('two'));
  assert.equal((await next()).gist, 'one.example two.example');
});

test('a save by renaming is notified, and so is the next one', async (t) => {
  const { directory, path, next } = await started(t, withoutPolls);
  for (const names of [
    ['one', 'two'],
    ['one', 'two', 'three'],
  ]) {
    await writeFile(join(directory, '.Sluicefile.swp'), names.map(site).join(''));
    await rename(join(directory, '.Sluicefile.swp'), path);
    assert.equal((await next()).gist, names.map((name) => `${name}.example`).join(' '));
  }
});

test('a swap of the ..data link of a ConfigMap is notified', async (t) => {
  const directory = await temporary(t);
  for (const name of ['one', 'two', 'three']) {
    await mkdir(join(directory, `..${name}`));
    await writeFile(join(directory, `..${name}`, 'Sluicefile'), site(name));
  }
  await symlink('..one', join(directory, '..data'));
  await symlink('..data/Sluicefile', join(directory, 'Sluicefile'));
  const { next } = follow(t, join(directory, 'Sluicefile'), withoutPolls);
  assert.equal((await next()).gist, 'one.example');
  for (const name of ['two', 'three']) {
    await symlink(`..${name}`, join(directory, '..data_tmp'));
    await rename(join(directory, '..data_tmp'), join(directory, '..data'));
    assert.equal((await next()).gist, `${name}.example`);
  }
});

test('a swap of a link above the file’s directory is notified', async (t) => {
  const directory = await temporary(t);
  for (const name of ['one', 'two']) {
    await mkdir(join(directory, 'worktrees', name), { recursive: true });
    await writeFile(join(directory, 'worktrees', name, 'Sluicefile'), site(name));
  }
  await symlink('worktrees/one', join(directory, 'current'));
  const { next } = follow(t, join(directory, 'current', 'Sluicefile'), withoutPolls);
  assert.equal((await next()).gist, 'one.example');
  await symlink('worktrees/two', join(directory, 'next'));
  await rename(join(directory, 'next'), join(directory, 'current'));
  assert.equal((await next()).gist, 'two.example');
  await writeFile(join(directory, 'worktrees', 'two', 'Sluicefile'), site('two') + site('edited'));
  assert.equal((await next()).gist, 'two.example edited.example');
});

test('a file that is deleted and rewritten is never reported missing', async (t) => {
  const { clock, pass, waitsFor } = steppedClock();
  const { path, next, rest } = await started(t, clock);
  await unlink(path);
  await waitsFor(MISSING_MS);
  pass(1);
  assert.deepEqual(rest(), []);
  await writeFile(path, site('two'));
  await waitsFor(REST_MS);
  pass(REST_MS);
  assert.equal((await next()).gist, 'two.example');
});

test('a file that stays missing is a failure, not an empty listing; once it returns it is listed', async (t) => {
  const { clock, pass, waitsFor } = steppedClock();
  const { path, next, rest } = await started(t, clock);
  await unlink(path);
  await waitsFor(MISSING_MS);
  assert.deepEqual(rest(), []);
  pass(MISSING_MS);
  assert.equal((await next()).gist, `failed: ${path}: there is no such file`);
  await writeFile(path, site('one'));
  assert.equal((await next()).gist, 'one.example');
});

test('a directory that is deleted and recreated is watched again', async (t) => {
  const directory = await temporary(t);
  const path = join(directory, 'conf', 'Sluicefile');
  await mkdir(join(directory, 'conf'));
  await writeFile(path, site('one'));
  const { next } = follow(t, path, withoutPolls);
  await next();
  await rm(join(directory, 'conf'), { recursive: true });
  await mkdir(join(directory, 'conf'));
  await writeFile(path, site('two'));
  assert.equal((await next()).gist, 'two.example');
  await writeFile(path, site('two') + site('three'));
  assert.equal((await next()).gist, 'two.example three.example');
});

test('a half-written file is a failure with its errors, and the complete one is listed', async (t) => {
  const { path, next } = await started(t);
  await writeFile(path, 'two.example {\n  respond 200 "tw');
  assert.match((await next()).gist, /^failed: .*Sluicefile:1:13: the block is never closed/);
  await writeFile(path, site('one') + site('two'));
  assert.equal((await next()).gist, 'one.example two.example');
});

test('a file that is truncated before it is rewritten does not count as empty', async (t) => {
  const { path, next } = await started(t);
  await writeFile(path, '');
  assert.match((await next()).gist, /^failed: .*the file is empty/);
});

test('a file missing at the start is a failure at once, and is found once it and its directory exist', async (t) => {
  const directory = await temporary(t);
  const path = join(directory, 'not', 'yet', 'Sluicefile');
  const { next } = follow(t, path);
  assert.equal((await next()).gist, `failed: ${path}: there is no such file`);
  await mkdir(join(directory, 'not', 'yet'), { recursive: true });
  await writeFile(path, site('one'));
  assert.equal((await next()).gist, 'one.example');
});

test('a reload lists an unchanged file again, before it resolves', async (t) => {
  const { source, next, rest } = await started(t);
  const snapshot = await source.reload();
  assert.equal(gist(snapshot), 'one.example');
  assert.equal((await next(0)).gist, 'one.example');
  assert.deepEqual(rest(), []);
});

test('a reload before the notification gives the only snapshot', async (t) => {
  const { path, source, next, rest } = await started(t);
  writeFileSync(path, site('two'));
  await source.reload();
  assert.equal((await next(0)).gist, 'two.example');
  await wait(400);
  assert.deepEqual(rest(), []);
});

test('a notification that arrives while a reload reads the file gives no second snapshot', async (t) => {
  const atOnce: Clock = {
    ...withoutPolls,
    after: (_, act) => {
      const soon = setImmediate(act);
      return () => clearImmediate(soon);
    },
  };
  const { directory, path, source, next, rest } = await started(t, atOnce);
  const many = Array.from({ length: 2_000 }, (_, at) => site(`n${at}`)).join('');
  await writeFile(join(directory, 'next'), many);
  renameSync(join(directory, 'next'), path);
  await source.reload();
  assert.match((await next(0)).gist, /^n0\.example n1\.example/);
  await source.reload();
  await next(0);
  assert.deepEqual(
    rest().map((gist) => gist.length),
    [],
  );
});

test('a reload of a missing file fails at once', async (t) => {
  const { path, source } = await started(t);
  await unlink(path);
  assert.equal(gist(await source.reload()), `failed: ${path}: there is no such file`);
});

test('other files in the directory are ignored, and a touched file is listed unchanged', async (t) => {
  const { directory, path, next, rest } = await started(t);
  await writeFile(join(directory, 'other'), 'x');
  await wait(300);
  assert.deepEqual(rest(), []);
  await utimes(path, new Date(), new Date());
  assert.equal((await next()).gist, 'one.example');
});

test('without any notification the poll finds a change', async (t) => {
  const directory = await temporary(t);
  await mkdir(join(directory, 'real', 'conf'), { recursive: true });
  await mkdir(join(directory, 'other', 'conf'), { recursive: true });
  await writeFile(join(directory, 'real', 'conf', 'Sluicefile'), site('one'));
  await writeFile(join(directory, 'other', 'conf', 'Sluicefile'), site('two'));
  const { next } = follow(t, join(directory, 'real', 'conf', 'Sluicefile'));
  await next();
  // The check after the first watch is over; a parent directory that is not a link is not watched.
  await wait(200);
  await rename(join(directory, 'real'), join(directory, 'old'));
  await rename(join(directory, 'other'), join(directory, 'real'));
  assert.equal((await next(POLL_MS + LONG_MS)).gist, 'two.example');
});

test('nothing is emitted after the stop, and run resolves', async (t) => {
  const { path, stopping, running, rest } = await started(t);
  stopping.abort();
  await running;
  await writeFile(path, site('two'));
  await wait(300);
  assert.deepEqual(rest(), []);
});

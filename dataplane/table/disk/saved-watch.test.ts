import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { frameOf, routeOf, TemporaryTable } from '../testing/temporary-table.ts';

const FILE = 'routes.db';
const warningsIn = ({ log }: TemporaryTable) => log.lines.filter(({ level }) => level !== 'debug').map(({ message }) => message);

test('a table whose files were removed while it is served is saved again, and that is said once', async () => {
  for (const remove of [
    (folder: string) => readdirSync(folder).map((name) => rmSync(join(folder, name))),
    (folder: string) => rmSync(join(folder, FILE)),
    (folder: string) => rmSync(join(folder, `${FILE}-wal`)),
    (folder: string) => rmSync(folder, { recursive: true }),
  ]) {
    using fixture = await TemporaryTable.start();
    await fixture.table.apply(frameOf({}, [routeOf('a.test', 'up:1', { source: 'file' })], { settings: { http_port: 81 } }));
    await fixture.table.post(routeOf('b.test', 'up:2'));
    remove(fixture.folder);
    for (let checks = 0; checks < 3; checks++) await fixture.table.keepSaved();
    assert.deepEqual(warningsIn(fixture).length, 1, warningsIn(fixture).join());
    assert.match(warningsIn(fixture).join(), /^the saved table was removed while the process runs: it is saved again/);
    await fixture.table.post(routeOf('c.test', 'up:3'));
    await fixture.restart();
    assert.deepEqual(fixture.visible(), ['a.test up:1 c', 'b.test up:2 hand', 'c.test up:3 hand']);
    assert.deepEqual(fixture.table.globals(), { http_port: 81 });
    assert.equal(fixture.table.controllers().length, 1);
  }
});

test('a table whose file was removed is saved again before a successor gets it', async () => {
  using fixture = await TemporaryTable.start();
  await fixture.table.post(routeOf('a.test'));
  rmSync(join(fixture.folder, FILE));
  await fixture.table.release();
  await fixture.restart();
  assert.deepEqual(fixture.visible(), ['a.test up:1 hand']);
});

test('a file that was put in the place of the table is not overwritten, and reported', async () => {
  using fixture = await TemporaryTable.start();
  await fixture.table.post(routeOf('old.test'));
  await fixture.restart();
  const [file, backup] = [join(fixture.folder, FILE), join(fixture.folder, 'backup')];
  copyFileSync(file, backup);
  await fixture.table.post(routeOf('new.test'));
  rmSync(file);
  rmSync(`${file}-wal`);
  copyFileSync(backup, file);
  await fixture.table.keepSaved();
  await fixture.table.keepSaved();
  assert.equal(warningsIn(fixture).length, 1);
  assert.match(
    fixture.table.saved.warnings.join(),
    /routes\.db was replaced while the process runs, and changes are lost at the next start$/,
  );
  await fixture.restart();
  assert.deepEqual(fixture.visible(), ['old.test up:1 hand']);
});

test('a table whose disk could not be written at the start is tried again, and is free for a successor meanwhile', async () => {
  using fixture = await TemporaryTable.start();
  await fixture.table.post(routeOf('a.test'));
  await fixture.restart('the file system is read-only');
  const [file, moved] = [join(fixture.folder, FILE), join(fixture.folder, 'moved')];
  // It can't be opened.
  renameSync(file, moved);
  symlinkSync(moved, file);
  for (let checks = 0; checks < 20; checks++) {
    await fixture.table.keepSaved();
    await fixture.table.release();
    fixture.table.reclaim();
  }
  assert.match(fixture.table.saved.warnings.join(), /changes can't be saved/);
  renameSync(moved, file);
  for (let checks = 0; checks < 10; checks++) await fixture.table.keepSaved();
  assert.deepEqual(fixture.table.saved.warnings, []);
  assert.equal(warningsIn(fixture).at(-1), 'changes can be saved again');
  await fixture.restart();
  assert.deepEqual(fixture.visible(), ['a.test up:1 hand']);
});

test('a table that was removed while its disk could not be written is saved again as a whole, with or without a change', async () => {
  for (const domains of [[], ['b.test']]) {
    using fixture = await TemporaryTable.start();
    await fixture.table.post(routeOf('a.test'));
    await fixture.restart('the file system is read-only');
    rmSync(join(fixture.folder, FILE));
    for (const domain of domains) await fixture.table.post(routeOf(domain));
    await fixture.table.keepSaved();
    await fixture.restart();
    assert.deepEqual(
      fixture.visible(),
      ['a.test', ...domains].map((domain) => `${domain} up:1 hand`),
    );
  }
});

test('nothing of an older file is mixed into a table that is saved again', async () => {
  using fixture = await TemporaryTable.start();
  await fixture.table.post(routeOf('old.test'));
  await fixture.restart();
  const backup = `${fixture.folder}.backup`;
  copyFileSync(join(fixture.folder, FILE), backup);
  await fixture.table.remove('old.test');
  await fixture.table.post(routeOf('new.test'));
  rmSync(fixture.folder, { recursive: true });
  writeFileSync(fixture.folder, 'no directory');
  await fixture.table.keepSaved();
  rmSync(fixture.folder);
  mkdirSync(fixture.folder);
  renameSync(backup, join(fixture.folder, FILE));
  await fixture.table.keepSaved();
  await fixture.restart();
  assert.deepEqual(fixture.visible(), ['new.test up:1 hand']);
});

test('a table that may only be read is served if its directory can’t be written', async () => {
  using fixture = await TemporaryTable.start();
  await fixture.table.post(routeOf('a.test'));
  fixture.close();
  chmodSync(join(fixture.folder, FILE), 0o444);
  chmodSync(fixture.folder, 0o755);
  // Root may write everything.
  const isRoot = process.geteuid?.() === 0;
  try {
    if (isRoot) process.seteuid?.('nobody');
    await fixture.restart('permission denied');
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
  assert.deepEqual(fixture.visible(), ['a.test up:1 hand']);
});

test('a table whose disk can’t be written is served also if no temporary file can be written', async (context) => {
  if (!existsSync('/dev/shm')) return context.skip('needs a file system in memory');
  using fixture = await TemporaryTable.start();
  await fixture.table.post(routeOf('a.test'));
  const { TMPDIR } = process.env;
  context.after(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });
  process.env.TMPDIR = join(fixture.folder, 'missing');
  await fixture.restart('the file system is read-only');
  assert.deepEqual(fixture.visible(), ['a.test up:1 hand']);
});

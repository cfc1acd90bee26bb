import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, rmSync } from 'node:fs';
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

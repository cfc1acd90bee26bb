import assert from 'node:assert/strict';
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SmallDisk, skipped } from '../../../shared/runtime/testing/small-disk.ts';
import { UnsavedError } from '../table.ts';
import { frameOf, routeOf, TemporaryTable } from '../testing/temporary-table.ts';

const many = (count: number) => Array.from({ length: count }, (_, at) => routeOf(`site-${at}.test`, 'up:1', { source: 'file' }));

test('a change that does not fit on the disk is not made at all, and a later one that fits is', async (context) => {
  using disk = new SmallDisk();
  if (skipped(context, disk)) return;
  using fixture = await TemporaryTable.start(disk.state);
  await fixture.table.post(routeOf('before.test'));
  for (let round = 0; round < 3; round++) {
    await assert.rejects(fixture.table.apply(frameOf({ revision: 1 }, many(20_000))), UnsavedError);
    assert.deepEqual(fixture.visible(), ['before.test up:1 hand']);
    assert.deepEqual([...fixture.publisher.served.keys()], ['before.test']);
    assert.deepEqual(fixture.table.controllers(), []);
  }
  await fixture.table.apply(frameOf({ revision: 1 }, many(10)));
  await fixture.restart();
  assert.equal(fixture.table.counts().routes, 11);
});

test('posts and deletes are rejected while the disk is full, and accepted again when there is space', async (context) => {
  using disk = new SmallDisk();
  if (skipped(context, disk)) return;
  using fixture = await TemporaryTable.start(disk.state);
  await fixture.table.post(routeOf('before.test'));
  disk.fill();
  let refused = 0;
  // Changes that still fit into the write-ahead log succeed.
  for (let at = 0; at < 200 && refused < 5; at++)
    await fixture.table.post(routeOf('more.test', `up:${at + 1}`)).catch((error: unknown) => {
      assert.ok(error instanceof UnsavedError);
      refused++;
    });
  assert.equal(refused, 5);
  const served = fixture.publisher.served.get('more.test');
  await assert.rejects(fixture.table.remove('before.test'), UnsavedError);
  assert.equal(fixture.publisher.served.get('more.test'), served);
  assert.ok(fixture.table.find('before.test'));
  disk.empty();
  assert.equal(await fixture.table.remove('before.test'), true);
  await fixture.table.post(routeOf('after.test'));
  await fixture.restart();
  assert.ok(fixture.table.find('after.test'));
  assert.equal(fixture.table.find('before.test'), undefined);
});

test('a saved table is restored even when the disk is full', async (context) => {
  using disk = new SmallDisk();
  if (skipped(context, disk)) return;
  using fixture = await TemporaryTable.start(disk.state);
  await fixture.table.post(routeOf('saved.test'));
  disk.fill();
  await fixture.restart();
  assert.ok(fixture.table.find('saved.test'));
  await assert.rejects(fixture.table.post(routeOf('new.test')), UnsavedError);
  disk.empty();
  await fixture.table.post(routeOf('new.test'));
  assert.ok(fixture.table.find('new.test'));
});

test('a disk without space for the first table is reported with the path', async (context) => {
  using disk = new SmallDisk();
  if (skipped(context, disk)) return;
  disk.fill();
  await assert.rejects(TemporaryTable.start(disk.state), /can't use .*state\/routes\.db: .+/);
});

test('routes in a damaged table are not lost if there is no space to save them again', async (context) => {
  using disk = new SmallDisk();
  if (skipped(context, disk)) return;
  using fixture = await TemporaryTable.start(disk.state);
  await fixture.table.apply(frameOf({}, many(100)));
  fixture.close();
  const file = openSync(join(disk.state, 'routes.db'), 'r+');
  // The number of free pages in the header.
  writeSync(file, Buffer.from([0, 0, 0, 9]), 0, 4, 36);
  closeSync(file);
  disk.fill();
  await assert.rejects(fixture.restart(), /can't use .*state\/routes\.db: .+/);
  disk.empty();
  await fixture.restart();
  assert.equal(fixture.table.counts().routes, 100);
});

test('a successor gets no table that was removed and does not fit on the disk any more', async (context) => {
  using disk = new SmallDisk();
  if (skipped(context, disk)) return;
  using fixture = await TemporaryTable.start(disk.state);
  await fixture.table.apply(frameOf({ revision: 1 }, many(2_000)));
  rmSync(disk.state, { recursive: true });
  writeFileSync(disk.state, 'no directory');
  await fixture.table.keepSaved();
  rmSync(disk.state);
  mkdirSync(disk.state);
  disk.fill();
  disk.free(15);
  for (let tries = 0; tries < 2; tries++) await assert.rejects(fixture.table.release(), /the saved table was removed/);
  disk.empty();
  await fixture.table.release();
  await fixture.restart();
  assert.equal(fixture.table.counts().routes, 2_000);
});

test('that changes can’t be saved is said once and warned about until one is saved again', async (context) => {
  using disk = new SmallDisk();
  if (skipped(context, disk)) return;
  using fixture = await TemporaryTable.start(disk.state);
  const said = () => fixture.log.lines.map(({ level, message }) => `${level} ${message}`);
  disk.fill();
  for (let round = 0; round < 3; round++) {
    await assert.rejects(fixture.table.apply(frameOf({ revision: 1 }, many(2_000))), UnsavedError);
    await fixture.table.keepSaved();
  }
  const failed = "error changes can't be saved and are not applied: free space or correct the permissions; what was saved before is served";
  assert.deepEqual(said(), [failed]);
  const [warning = ''] = fixture.table.saved.warnings;
  assert.match(warning, /^changes can't be saved in .*routes\.db \(database or disk is full\); what was saved before is served$/);
  disk.empty();
  // Nobody tries again, so that a small change is tried after a while.
  for (let checks = 0; checks < 10; checks++) await fixture.table.keepSaved();
  assert.deepEqual([said(), fixture.table.saved.warnings], [[failed, 'info changes can be saved again'], []]);
});

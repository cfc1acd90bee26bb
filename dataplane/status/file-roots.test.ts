import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseRoute, type RouteInput } from '../../shared/route.ts';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { TemporaryTable } from '../table/testing/temporary-table.ts';
import { FileRoots } from './file-roots.ts';

async function scene(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-roots-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const fixture = await TemporaryTable.start();
  t.after(() => fixture[Symbol.dispose]());
  const clock = new ManualClock();
  const put = async (domain: string, more: Partial<RouteInput>): Promise<void> => {
    const parsed = parseRoute({ domain, upstream: null, tls: false, ...more });
    assert.ok(parsed.ok, JSON.stringify(parsed));
    await fixture.table.post(parsed.value);
  };
  return { folder, clock, put, table: fixture.table, roots: new FileRoots(fixture.table, clock) };
}

test('a root that does not exist is named with its sites until it is there, or no site serves it', async (t) => {
  const { folder, put, table, roots } = await scene(t);
  const [missing, other] = [join(folder, 'missing'), join(folder, 'other')];
  await put('a.test', { root: missing, file_server: {} });
  await roots.check();
  assert.deepEqual(roots.warnings(), [`${missing} does not exist, but the site a.test serves files from there`]);
  await put('b.test', { handles: [{ path: '/x/*', file_server: { root: missing } }] });
  await put('c.test', { root: other, respond: { status: 200, body: 'no file' } });
  await roots.check();
  assert.deepEqual(roots.warnings(), [`${missing} does not exist, but 2 sites (a.test, b.test) serve files from there`]);
  await table.remove('a.test');
  assert.deepEqual(roots.warnings(), [`${missing} does not exist, but the site b.test serves files from there`]);
  mkdirSync(missing);
  await roots.check();
  assert.deepEqual(roots.warnings(), []);
});

test('a root that is a file, or below one, is named with the reason', async (t) => {
  const { folder, put, roots } = await scene(t);
  const file = join(folder, 'file');
  writeFileSync(file, '');
  await put('a.test', { root: file, file_server: {} });
  await put('b.test', { root: join(file, 'below'), file_server: {} });
  await roots.check();
  assert.deepEqual(roots.warnings(), [
    `${file} is not a directory, but the site a.test serves files from there`,
    `${file}/below is below something that is not a directory, but the site b.test serves files from there`,
  ]);
});

test('a root that may not be entered is named', { skip: process.getuid?.() === 0 && 'root may enter every directory' }, async (t) => {
  const { folder, put, roots } = await scene(t);
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o000 });
  t.after(() => chmodSync(closed, 0o700));
  await put('a.test', { root: closed, file_server: {} });
  await roots.check();
  assert.match(roots.warnings()[0] ?? '', /closed can't be read by the user/);
});

test('a directory that disappears is noticed without a change of the table', async (t) => {
  const { folder, clock, put, roots } = await scene(t);
  const root = join(folder, 'www');
  mkdirSync(root);
  await put('a.test', { root, file_server: {} });
  await roots.check();
  assert.deepEqual(roots.warnings(), []);
  rmSync(root, { recursive: true });
  clock.pass(10_000);
  await roots.check();
  assert.match(roots.warnings()[0] ?? '', /does not exist/);
});

test('a directory that does not respond within ten seconds is named until it does', async (t) => {
  const { folder, clock, put, roots } = await scene(t);
  await put('a.test', { root: folder, file_server: {} });
  await roots.check();
  const look = roots.check();
  clock.pass(10_000);
  assert.deepEqual(roots.warnings(), [`${folder} does not respond, but the site a.test serves files from there`]);
  await look;
  await roots.check();
  assert.deepEqual(roots.warnings(), []);
});

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Store } from './store.ts';

test('a symbolic link instead of the table file is rejected, and the file it points to is not changed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'planted-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [victim, path] = [join(folder, 'victim'), join(folder, 'table.sqlite')];
  writeFileSync(victim, '', { mode: 0o644 });
  symlinkSync(victim, path);
  assert.throws(() => new Store(path), { code: 'ELOOP' });
  assert.deepEqual([readFileSync(victim, 'utf8'), statSync(victim).mode & 0o777], ['', 0o644]);
});

test('a released table without later saves can be closed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'released-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const store = new Store(join(folder, 'table.sqlite'));
  store.release();
  assert.doesNotThrow(() => store.close());
});

test('a table can be released again without a save in between, as for the takeover after one that failed', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'released-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const store = new Store(join(folder, 'table.sqlite'));
  t.after(() => store.close());
  store.release();
  assert.doesNotThrow(() => store.release());
  await store.save({ puts: [], deletes: [], schemaHash: 'a' });
  assert.equal(store.schemaHash(), 'a');
});

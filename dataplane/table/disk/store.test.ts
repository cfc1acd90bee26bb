import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Store } from './store.ts';

test('a symbolic link in the place of the table is refused, and the file that it points to stays as it is', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'planted-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [victim, path] = [join(folder, 'victim'), join(folder, 'table.sqlite')];
  writeFileSync(victim, '', { mode: 0o644 });
  symlinkSync(victim, path);
  assert.throws(() => new Store(path), { code: 'ELOOP' });
  assert.deepEqual([readFileSync(victim, 'utf8'), statSync(victim).mode & 0o777], ['', 0o644]);
});

test('a table that was released and not saved since closes like any other', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'released-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const store = new Store(join(folder, 'table.sqlite'));
  store.release();
  assert.doesNotThrow(() => store.close());
});

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { KeyValueFolder } from './key-value-folder.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'folder-'));
});
afterEach(() => rmSync(root, { recursive: true, maxRetries: 10 }));
const open = () => new KeyValueFolder(join(root, '.folder'));

test('a value is visible to others, can be overwritten, survives deletion of the folder before a write, and null deletes it', async () => {
  const folder = open();
  assert.deepEqual([folder.keys(), folder.read('a.test')], [[], null]);
  await folder.write('a.test', 'one');
  await folder.write('*.a.test', 'wild');
  assert.deepEqual([open().read('a.test'), open().read('*.a.test'), open().keys().sort()], ['one', 'wild', ['_.a.test', 'a.test']]);
  rmSync(join(root, '.folder'), { recursive: true });
  await folder.write('a.test', 'two');
  assert.equal(open().read('a.test'), 'two');
  await folder.write('a.test', null);
  await folder.write('a.test', null);
  assert.deepEqual(readdirSync(join(root, '.folder')), []);
});

test('what others have put into the folder is no key', async () => {
  await open().write('a.test', 'one');
  for (const name of ['.nfs0000012', '.DS_Store', 'a.test~', 'b.test.new']) writeFileSync(join(root, '.folder', name), 'not ours');
  for (const name of ['@eaDir', '#recycle']) mkdirSync(join(root, '.folder', name));
  assert.deepEqual(open().keys(), ['a.test']);
});

test('files have mode 0600 in a folder of mode 0700', async () => {
  await open().write('a.test', 'a key');
  assert.equal(statSync(join(root, '.folder')).mode & 0o777, 0o700);
  assert.equal(statSync(join(root, '.folder', 'a.test')).mode & 0o777, 0o600);
});

test('the longest names have a key, and no name can leave the folder', async () => {
  const folder = open();
  const long = `${`${'a'.repeat(62)}.`.repeat(4)}`.slice(0, 250);
  for (const name of [`${long}x`, `${long}y`]) await folder.write(name, name);
  assert.equal(folder.read(`${long}x`), `${long}x`);
  for (const name of ['', '..', '.hidden', 'a/b', '../a', 'a\0'])
    assert.throws(() => folder.read(name), /invalid key/, JSON.stringify(name));
});

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { KeyValueFolder } from './key-value-folder.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'notes-'));
});
afterEach(() => rmSync(root, { recursive: true, maxRetries: 10 }));
const open = () => new KeyValueFolder(join(root, '.notes'));

test('what was written is there for others, also a second time and after the folder was deleted; null deletes it', async () => {
  const notes = open();
  assert.deepEqual([notes.keys(), notes.read('a.test')], [[], null]);
  await notes.write('a.test', 'one');
  await notes.write('*.a.test', 'wild');
  assert.deepEqual([open().read('a.test'), open().read('*.a.test'), open().keys().sort()], ['one', 'wild', ['_.a.test', 'a.test']]);
  rmSync(join(root, '.notes'), { recursive: true });
  await notes.write('a.test', 'two');
  assert.equal(open().read('a.test'), 'two');
  await notes.write('a.test', null);
  await notes.write('a.test', null);
  assert.deepEqual(readdirSync(join(root, '.notes')), []);
});

test('they are for nobody else: mode 0600 in a folder of mode 0700', async () => {
  await open().write('a.test', 'a key');
  assert.equal(statSync(join(root, '.notes')).mode & 0o777, 0o700);
  assert.equal(statSync(join(root, '.notes', 'a.test')).mode & 0o777, 0o600);
});

test('the longest names have one, and no name leads elsewhere', async () => {
  const notes = open();
  const long = `${`${'a'.repeat(62)}.`.repeat(4)}`.slice(0, 250);
  for (const name of [`${long}x`, `${long}y`]) await notes.write(name, name);
  assert.equal(notes.read(`${long}x`), `${long}x`);
  for (const name of ['', '..', '.hidden', 'a/b', '../a', 'a\0']) assert.throws(() => notes.read(name), /no name/, JSON.stringify(name));
});

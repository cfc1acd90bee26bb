import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';

const site = (name: string, word = name) => `${name}.test {\n  respond "${word}"\n}\n`;

describe('a file with imports', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    // Its file is in a mounted ConfigMap.
    mkdirSync(folder.file('..one'));
    symlinkSync('..one', folder.file('..data'));
    symlinkSync('..data/Sluicefile', folder.file('Sluicefile'));
    pair = await Pair.start(folder, '');
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('imported files are served when they appear or change, and one with errors changes nothing', async () => {
    mkdirSync(folder.file('sites'));
    writeFileSync(folder.file('sites/a'), site('a'));
    await pair.serve('import sites/*\n');
    assert.equal((await pair.visit('a.test')).text, 'a');
    writeFileSync(folder.file('sites/b'), site('b'));
    await until('the new file to be served', async () => (await pair.visit('b.test')).text === 'b');
    writeFileSync(folder.file('sites/b'), 'b.test {\n  respnd "broken"\n}\n');
    await until('the error in the imported file to be reported', async () => (await pair.admin('/status')).text.includes('sites/b:2:3'));
    assert.match((await pair.command('status')).stdout, /sites\/b:2:3: .*imported by .*Sluicefile:5:1/);
    assert.equal((await pair.visit('b.test')).text, 'b');
    writeFileSync(folder.file('sites/b'), site('b', 'fixed'));
    await until('the fixed file to be served', async () => (await pair.visit('b.test')).text === 'fixed');
  });

  test('an import directory that disappears and returns causes no gap', async () => {
    mkdirSync(folder.file('directory'));
    writeFileSync(folder.file('directory/a'), site('a'));
    await pair.serve('import directory/*\n');
    rmSync(folder.file('directory'), { recursive: true });
    const end = performance.now() + 700;
    while (performance.now() < end) assert.equal((await pair.visit('a.test')).text, 'a');
    mkdirSync(folder.file('new'));
    writeFileSync(folder.file('new/a'), site('a', 'returned'));
    renameSync(folder.file('new'), folder.file('directory'));
    await until('the returned files to be served', async () => {
      const { text } = await pair.visit('a.test');
      assert.ok(text === 'a' || text === 'returned', text);
      return text === 'returned';
    });
  });

  test('a ConfigMap that is swapped changes the file and its imports in one step', async () => {
    writeFileSync(folder.file('..one/a.site'), site('a', 'one'));
    await pair.serve('import ..data/*.site\n');
    assert.equal((await pair.visit('a.test')).text, 'one');
    mkdirSync(folder.file('..two'));
    writeFileSync(folder.file('..two/Sluicefile'), readFileSync(pair.file));
    writeFileSync(folder.file('..two/b.site'), site('b', 'two'));
    symlinkSync('..two', folder.file('..tmp'));
    renameSync(folder.file('..tmp'), folder.file('..data'));
    await until('the other version to be served', async () => (await pair.visit('b.test')).text === 'two');
    assert.equal((await pair.visit('a.test')).status, 404, 'files missing in the new version were removed in the same step');
  });
});

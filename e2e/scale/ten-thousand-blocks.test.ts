import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { run } from '../testing/process.ts';

const BLOCKS = 10_000;

/** A site with 10,000 blocks, of which one says `word`. */
const file = (word: string): string => {
  const blocks = Array.from({ length: BLOCKS }, (_, nth) => {
    const path = `/team-${nth % 100}/service-${nth}`;
    return `  handle ${path}/* {\n    respond "${nth === 5_000 ? word : `block ${nth}`}"\n  }\n`;
  });
  return `site.test {\n${blocks.join('')}  respond 404 "no block"\n}\n`;
};
const pathOf = (nth: number): string => `/team-${nth % 100}/service-${nth}/page`;

test('a site of 10,000 blocks is adapted, served, explained, changed and restored', async () => {
  using folder = new Folder();
  {
    await using pair = await Pair.start(folder, file('first'));
    const at = async (path: string) => (await pair.visit('site.test', path)).text;
    for (const nth of [0, 1, 4_999, 9_999]) assert.equal(await at(pathOf(nth)), `block ${nth}`);
    assert.equal(await at(pathOf(5_000)), 'first');
    assert.equal(await at(pathOf(BLOCKS)), 'no block');
    pair.write(file('second'));
    await until('the change to be served', async () => (await at(pathOf(5_000))) === 'second');
    assert.equal(await at(pathOf(9_999)), 'block 9999');
    const explained = await pair.command('explain', `site.test${pathOf(7_000)}`);
    assert.equal(explained.code, 0, explained.stderr);
    assert.match(explained.stdout, /\/team-0\/service-7000\/\*/);
    const [full] = JSON.parse((await pair.admin('/routes?view=full')).text) as { handles: unknown[] }[];
    assert.equal(full?.handles.length, BLOCKS);
    const adapted = await run(['adapt', '--config', folder.file('Sluicefile')]);
    assert.equal((JSON.parse(adapted.stdout) as { handles: unknown[] }[])[0]?.handles.length, BLOCKS);
  }
  await using again = await Pair.start(folder, file('second'));
  assert.equal((await again.visit('site.test', pathOf(5_000))).text, 'second');
});

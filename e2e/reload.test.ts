import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Folder } from './harness/dataplane.ts';
import { Pair } from './harness/pair.ts';
import { until } from './harness/until.ts';

const site = (body: string): string => `site.test {\n  respond "${body}"\n}\n`;
const says = (pair: Pair, body: string) => until(`the site to say ${body}`, async () => (await pair.visit('site.test')).text === body);

test('reload waits for the outcome and prints it; a failed reload starts the cooldown, which saved changes neither start nor wait for', async () => {
  using folder = new Folder();
  await using pair = await Pair.start(folder, site('one'));
  pair.write(site('two'));
  await says(pair, 'two');
  pair.write('site.test {\n  respnd "three"\n}\n');
  const failed = await pair.command('reload');
  assert.deepEqual([failed.code, failed.stdout], [1, ''], failed.stderr);
  assert.match(failed.stderr, /^\S*Sluicefile:6:3: unknown directive "respnd" \(did you mean "respond"\?\)\n$/);
  const early = await pair.admin('/reload', { method: 'POST' });
  assert.deepEqual([early.status, early.text.includes('reload too soon')], [429, true]);
  assert.equal((await pair.visit('site.test')).text, 'two');
  const before = performance.now();
  pair.write(site('four'));
  await says(pair, 'four');
  assert.ok(performance.now() - before < 4_000, 'a saved change waits for no cooldown');
});

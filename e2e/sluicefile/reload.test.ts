import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';

const site = (body: string): string => `site.test {\n  respond "${body}"\n}\n`;
const says = (pair: Pair, body: string) => until(`the site to say ${body}`, async () => (await pair.visit('site.test')).text === body);

test('reload waits for the outcome and prints it; a failed reload starts the cooldown, which saved changes neither start nor wait for', async () => {
  using folder = new Folder();
  await using pair = await Pair.start(folder, site('one'));
  let tries = 0;
  pair.write(site('two'));
  await says(pair, 'two');
  pair.write('site.test {\n  respnd "three"\n}\n');
  const failed = await pair.command('reload');
  assert.deepEqual([failed.code, failed.stdout], [1, ''], failed.stderr);
  assert.match(failed.stderr, /^\S*Sluicefile:6:3: unknown directive "respnd" \(did you mean "respond"\?\)\n$/);
  const early = await pair.admin('/reload', { method: 'POST' });
  assert.deepEqual([early.status, early.text.includes('reload too soon')], [429, true]);
  assert.equal((await pair.visit('site.test')).text, 'two');
  // While the cooldown runs. If the machine is so slow that it is over by then, the test tries again.
  await until('a saved change to be served during the cooldown', async () => {
    await pair.command('reload');
    const body = `try ${++tries}`;
    pair.write(site(body));
    await says(pair, body);
    return (await pair.admin('/reload', { method: 'POST' })).status === 429;
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadedOnce } from './loaded-once.ts';

test('what is loaded when it is first needed is loaded once, and again after a failure', async () => {
  const results = [new Error('a file is missing'), 'loaded'];
  let loads = 0;
  const load = loadedOnce(async () => {
    const result = results[loads++];
    if (result instanceof Error) throw result;
    return result;
  });
  assert.equal(loads, 0);
  await assert.rejects(load(), /a file is missing/);
  assert.deepEqual(await Promise.all([load(), load()]), ['loaded', 'loaded']);
  assert.equal(await load(), 'loaded');
  assert.equal(loads, 2);
});

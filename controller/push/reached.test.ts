import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Reached } from './reached.ts';

test('of the addresses of one data plane, the first one is used', () => {
  const reached = new Reached(['a', 'b', 'c']);
  assert.equal(reached.earlier('a'), null);
  reached.at('b', 'one');
  assert.equal(reached.earlier('b'), null);
  reached.at('c', 'two');
  reached.at('a', 'one');
  assert.deepEqual(
    ['a', 'b', 'c'].map((address) => reached.earlier(address)),
    [null, 'a', null],
  );
});

test('another one is used once the first has another process, or nothing answers there', () => {
  const reached = new Reached(['a', 'b']);
  for (const address of ['a', 'b']) reached.at(address, 'one');
  assert.equal(reached.earlier('b'), 'a');
  reached.at('a', 'two');
  assert.equal(reached.earlier('b'), null);
  reached.at('a', 'one');
  assert.equal(reached.earlier('b'), 'a');
  reached.lost('a');
  assert.equal(reached.earlier('b'), null);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { remembered } from './remembered.ts';

test('a result is remembered until there are too many', () => {
  const read: string[] = [];
  const sizeOf = remembered((text) => {
    read.push(text);
    return { size: text.length };
  }, 2);
  assert.equal(sizeOf('a'), sizeOf('a'));
  assert.deepEqual([sizeOf('bb'), sizeOf('ccc'), sizeOf('bb')], [{ size: 2 }, { size: 3 }, { size: 2 }]);
  assert.deepEqual(read, ['a', 'bb', 'ccc']);
  sizeOf('a');
  assert.equal(read.length, 4);
});

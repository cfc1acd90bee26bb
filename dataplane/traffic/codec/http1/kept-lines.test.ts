import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldIn } from './kept-lines.ts';

test('finds the value of a forwarded field by name, whether it is first, last or missing', () => {
  const kept = 'Accept: a\r\nX-Host: b\r\nhost:  c \r\n';
  assert.equal(fieldIn(kept, 'accept'), 'a');
  assert.equal(fieldIn(kept, 'host'), 'c');
  assert.equal(fieldIn('A: \xa0b\xa0\r\n', 'a'), '\xa0b\xa0', 'only spaces and tabs are stripped from a value');
  assert.equal(fieldIn(kept, 'hos'), null);
  assert.equal(fieldIn('', 'host'), null);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lengthEnd } from './length-end.ts';

test('ends a head with its length, not with one from before', () => {
  for (const length of [0, 1, 255, 256, 257, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, 1, 257, 0, 0])
    assert.equal(lengthEnd(length), `Content-Length: ${length}\r\n\r\n`);
});

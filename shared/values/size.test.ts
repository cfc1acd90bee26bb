import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSize } from './size.ts';

for (const [text, bytes] of [
  ['1b', 1],
  ['256kb', 262_144],
  ['1MB', 1_048_576],
  ['2Gb', 2_147_483_648],
  ['0kb', 0],
] as const)
  test(`${text} is ${bytes} bytes`, () => assert.deepEqual(parseSize(text), { ok: true, value: bytes }));

for (const text of ['', '5', 'kb', '1.5mb', '-1kb', '1 kb', '1kib', '1k', '9999999999kb', '1kb '])
  test(`"${text}" is not a size`, () => assert.equal(parseSize(text).ok, false));

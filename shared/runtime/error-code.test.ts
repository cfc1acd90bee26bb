import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { test } from 'node:test';
import { codeOf } from './error-code.ts';

test('a system error has its code, also one that Node does not know', () => {
  assert.throws(
    () => readFileSync('/nowhere/at/all'),
    (error) => codeOf(error) === 'ENOENT',
  );
  for (const code of ['UNKNOWN', `Unknown system error -${constants.errno.EDQUOT}`])
    assert.equal(codeOf(Object.assign(new Error(code), { code, errno: -constants.errno.EDQUOT })), 'EDQUOT');
  for (const other of [new Error('no code'), 'no error', null]) assert.equal(codeOf(other), '');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTargeted } from './directives.ts';
import { variantOf } from './response.ts';

/** More than any head can have: in quadratic time, this would take minutes. */
const SPACES = ' '.repeat(1_000_000);

test('a field that responses vary by is read in linear time, whatever it contains', () => {
  for (const name of ['accept-encoding', 'accept-language', 'accept', 'accept-charset']) {
    const long = variantOf(`${name}: a${SPACES}b${SPACES};${SPACES}q${SPACES}=${SPACES}1,${SPACES}c\r\n`, [name]);
    assert.ok(long === variantOf(`${name}: A${SPACES}B;Q${SPACES}=${SPACES}1,c\r\n`, [name]), name);
  }
});

test('a targeted field is read in linear time, whatever it contains', () => {
  assert.equal(readTargeted(`a;${SPACES}"`), null);
  assert.deepEqual([...(readTargeted(`${SPACES}max-age=1;${SPACES}`)?.keys() ?? [])], ['max-age']);
});

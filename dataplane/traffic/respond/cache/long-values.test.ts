import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTargeted } from './directives.ts';
import { variantOf } from './response.ts';

/** More than any head can have: in quadratic time, this would take minutes. */
const SPACES = ' '.repeat(1_000_000);

for (const name of ['accept-encoding', 'accept-language', 'accept', 'accept-charset']) {
  test(`${name} is compared without white space and letter case where responses vary by it`, () => {
    const wide = ' '.repeat(100);
    const spaced = variantOf(`${name}: a${wide}b${wide};${wide}q${wide}=${wide}1,${wide}c\r\n`, [name]);
    assert.equal(spaced, variantOf(`${name}: A${wide}B;Q${wide}=${wide}1,c\r\n`, [name]));
  });

  test(`a long ${name} is taken as it is, so that a thousand clients that wait for one response are compared within milliseconds`, () => {
    const value = `B, ${'a, '.repeat(5_000)}c`;
    assert.equal(variantOf(`${name}: ${value}\r\n`, [name]), `=${value}`);
  });
}

test('a targeted field with any content is read in linear time', () => {
  assert.equal(readTargeted(`a;${SPACES}"`), null);
  assert.deepEqual([...(readTargeted(`${SPACES}max-age=1;${SPACES}`)?.keys() ?? [])], ['max-age']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCountry } from './country.ts';

test('a country is two letters that name one, in either case', () => {
  for (const [text, code] of [
    ['DE', 'DE'],
    ['ch', 'CH'],
    ['Us', 'US'],
    ['XK', 'XK'],
  ] as const)
    assert.deepEqual(parseCountry(text), { ok: true, value: code });
  for (const text of ['', 'D', 'DEU', 'D1', 'Germany', 'XX', 'QQ', 'ＤＥ', 'ı1'])
    assert.deepEqual(parseCountry(text), { ok: false, reason: 'write the two-letter code of a country, for example DE' }, text);
  assert.deepEqual(parseCountry('uk'), { ok: false, reason: 'no country has this code: write GB' });
});

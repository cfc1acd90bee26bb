import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasBlankEdge } from './blank-edge.ts';

/** What `String.prototype.trim`, `str.strip` of Python or `strip` of Java take off, in UTF-8. */
const SPACES = [0x85, 0xa0, 0x1680, 0x2000, 0x2005, 0x200a, 0x200b, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff];
const bytes = (text: string): string => Buffer.from(text).toString('latin1');

for (const code of SPACES)
  test(`U+${code.toString(16)} is seen at either end, and passes between`, () => {
    const space = bytes(String.fromCodePoint(code));
    for (const value of [`${space}admin`, `admin${space}`, space, `é${space}`]) assert.equal(hasBlankEdge(value), true, value);
    assert.equal(hasBlankEdge(`a${space}b`), false);
  });

test('NEL and no-break space count as bytes of Latin-1 too', () => {
  for (const value of ['\x85admin', '\xa0admin', 'admin\x85', 'admin\xa0', '\x85', '\xe9\xa0\x85\xa0\xa0 \xa0'])
    assert.equal(hasBlankEdge(value), true, JSON.stringify(value));
});

test('letters that end or begin with such a byte in UTF-8 are letters', () => {
  for (const text of ['voilà', 'Å', '†', 'Ⅰ', 'à b à', '中', '𐀅', '𐀠', 'ä', '…', '‐', '–', '«x»'])
    assert.equal(hasBlankEdge(bytes(text)), false, text);
});

test('what Latin-1 writes is left alone otherwise', () => {
  for (const value of ['', 'a', '\xe9t\xe9', '\x92a\x92', '\xff', '\x80']) assert.equal(hasBlankEdge(value), false, JSON.stringify(value));
});

test('whatever of a value is taken off at its end, a letter in front of it is left of what was refused nowhere', () => {
  for (let one = 0x80; one <= 0xff; one++)
    for (let two = 0x80; two <= 0xff; two++) {
      const value = `admin${String.fromCharCode(one, two)}`;
      if (!hasBlankEdge(value)) assert.notEqual(value.replace(/[\x85\xa0]+$/, ''), 'admin', JSON.stringify(value));
    }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasBlankEdge } from './blank-edge.ts';

/** What `String.prototype.trim`, Python's `str.strip` and Java's `strip` remove, in UTF-8. */
const SPACES = [0x85, 0xa0, 0x1680, 0x2000, 0x2005, 0x200a, 0x200b, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff];
const bytes = (text: string): string => Buffer.from(text).toString('latin1');

for (const code of SPACES)
  test(`U+${code.toString(16)} is detected at either end of a value and allowed inside it`, () => {
    const space = bytes(String.fromCodePoint(code));
    for (const value of [`${space}admin`, `admin${space}`, space, `é${space}`]) assert.equal(hasBlankEdge(value), true, value);
    assert.equal(hasBlankEdge(`a${space}b`), false);
  });

test('NEL and no-break space are also detected as single bytes of Latin-1', () => {
  for (const value of ['\x85admin', '\xa0admin', 'admin\x85', 'admin\xa0', '\x85', '\xe9\xa0\x85\xa0\xa0 \xa0'])
    assert.equal(hasBlankEdge(value), true, JSON.stringify(value));
});

test('a letter whose UTF-8 encoding begins or ends with such a byte is allowed', () => {
  for (const text of ['voilà', 'Å', '†', 'Ⅰ', 'à b à', '中', '𐀅', '𐀠', 'ä', '…', '‐', '–', '«x»'])
    assert.equal(hasBlankEdge(bytes(text)), false, text);
});

test('other Latin-1 text is allowed', () => {
  for (const value of ['', 'a', '\xe9t\xe9', '\x92a\x92', '\xff', '\x80']) assert.equal(hasBlankEdge(value), false, JSON.stringify(value));
});

test('stripping the end of an accepted value never turns it into another word', () => {
  for (let one = 0x80; one <= 0xff; one++)
    for (let two = 0x80; two <= 0xff; two++) {
      const value = `admin${String.fromCharCode(one, two)}`;
      if (!hasBlankEdge(value)) assert.notEqual(value.replace(/[\x85\xa0]+$/, ''), 'admin', JSON.stringify(value));
    }
});

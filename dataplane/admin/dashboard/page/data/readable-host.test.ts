import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainToASCII, domainToUnicode } from 'node:url';
import { readableHost, searchable } from './readable-host.ts';

const shown = (name: string): string => readableHost(domainToASCII(name));

test('names of hosts are shown as their owners write them', () => {
  const names = [
    'münchen.test',
    '*.čeština.test',
    'café-2.đại.test',
    'пример.test',
    'москва.рф',
    'παράδειγμα.test',
    'مثال.test',
    'שלום.test',
  ];
  const asian = ['例え.test', '日本語.jp', 'コーヒー.test', '公司.cn', '한국.kr', 'ไทย.test', 'भारत.test'];
  for (const name of [...names, ...asian, 'shop.test']) assert.equal(shown(name), name);
  assert.equal(searchable('xn--e1afmkfd.test'), 'xn--e1afmkfd.test пример.test');
});

test('a label that mixes writing systems, or looks like another one, stays as it is sent', () => {
  // With Cyrillic letters, whole or in part, then Latin ones that look like ASCII, accents of their own, a letter like a slash, digits,
  // symbols.
  const names = [
    'gооgle.test',
    'аррӏе.test',
    'ѡох.test',
    'ɡoogle.test',
    'ıstanbul.test',
    'a\u0331b.test',
    'ノ.test',
    '公司abc.test',
    'مثال١.test',
    '💩.test',
  ];
  for (const name of names) {
    const sent = domainToASCII(name);
    assert.match(sent, /^xn--/, name);
    assert.equal(readableHost(sent), sent, name);
  }
  assert.equal(shown('аррӏе.пример.test'), `${domainToASCII('аррӏе')}.пример.test`, 'each label is judged alone');
});

test('what is no name, or not spelled as browsers do, stays as it is', () => {
  // Malformed, out of range, of ASCII only, and the uppercase letter for пример.
  for (const label of [
    'xn--',
    'xn---',
    'xn--a',
    'xn--99999999999',
    `xn--${'a'.repeat(59)}`,
    'xn--abc-',
    'xn--!',
    'xn--e1aFmkfd',
    'xn--e1afm',
    'xn--p0a9a3f',
  ])
    for (const name of [label, `${label}.test`]) {
      const result = readableHost(name);
      assert.ok(result === name || domainToASCII(result) === name, `${name} ${result}`);
    }
});

test('a name that is shown is the one that Node decodes', () => {
  // The first letters of Latin, Greek, Cyrillic, Hebrew, Arabic, kana, Han and Hangul, in a fixed order that differs each time.
  const starts = [0xe0, 0x3b1, 0x430, 0x5d0, 0x627, 0x3041, 0x4e00, 0xac00];
  for (const [row, start] of starts.entries())
    for (let round = 0; round < 100; round++) {
      const letters = Array.from({ length: 1 + (round % 9) }, (_, at) =>
        String.fromCodePoint(start + ((round * 7 + at * (11 + row)) % 20)),
      );
      const sent = domainToASCII(`${letters.join('')}.test`);
      const result = readableHost(sent);
      assert.ok(result === sent || result === domainToUnicode(sent), `${sent} ${result}`);
    }
});

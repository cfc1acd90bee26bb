import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, change, count, country, duration, moment, percent, rate, readablePath, span, visible } from './format.ts';

const shows = <T>(format: (value: T) => string, expected: readonly (readonly [T, string])[]) => {
  for (const [value, text] of expected) assert.equal(format(value), text);
};

test('numbers keep two or three digits', () => {
  shows(count, [
    [0, '0'],
    [9_999, '9,999'],
    [12_345, '12.3K'],
    [4_000_000, '4M'],
  ]);
  shows(rate, [
    [0, '0'],
    [0.04, '0.04'],
    [3.14, '3.1'],
    [412.4, '412'],
  ]);
  shows(bytes, [
    [0, '0 B'],
    [999, '999 B'],
    [1_000, '1.0 kB'],
    [12_345, '12.3 kB'],
    [999_499, '999 kB'],
    [999_501, '1.0 MB'],
    [5e15, '5.0 PB'],
  ]);
  shows(duration, [
    [0, '0 ms'],
    [1.234, '1.2 ms'],
    [412.4, '412 ms'],
    [2_512, '2.51 s'],
    [61_000, '1 min'],
  ]);
  shows(span, [
    [59.9, '59 s'],
    [3_700, '1 h 1 min'],
    [90_000, '1 d 1 h'],
    [2_000_000, '23 d'],
  ]);
  shows(percent, [
    [0, '0%'],
    [0.0001, '<0.1%'],
    [0.034, '3.4%'],
    [0.994, '99%'],
    [0.9957, '99.6%'],
    [0.9999, '>99.9%'],
    [1, '100%'],
    [2.5, '250%'],
  ]);
});

test('names of countries, and invalid codes', () => {
  shows(country, [
    ['DE', 'Germany'],
    ['XX', 'XX'],
    ['?', '?'],
  ]);
});

test('paths are readable in every language, and what an escape of ASCII stands for is not taken for the character', () => {
  shows(readablePath, [
    ['/%D9%85%d8%b1/%F0%9F%8D%B5?', '/\u0645\u0631/\u{1f375}?'],
    ['/a%2Fb%20c%25D9%2541', '/a%2Fb%20c%25D9%2541'],
    ['/%D9%85%D8', '/\u0645%D8'],
    ['/%FF%C0%80%ED%A0%80', '/%FF%C0%80%ED%A0%80'],
  ]);
});

test('a date has no place for the end of a line but before the time', () => {
  assert.match(moment('2026-11-20T14:03:00Z'), /^\d\d\u00a0Nov\u00a02026, \d\d:\d\d$/);
});

test('a change needs something before', () => {
  assert.equal(change(3, 2), 0.5);
  assert.equal(change(3, 0), null);
});

test('characters that hide or turn text around are shown as their code points, and those that languages need are kept', () => {
  shows(visible, [
    ['/a\u202egnp.exe', '/a‹U+202E›gnp.exe'],
    ['pay\u200bpal.test', 'pay‹U+200B›pal.test'],
    ['a\0b\n\u2066c\u{e0041}', 'a‹U+0000›b‹U+000A›‹U+2066›c‹U+E0041›'],
    ['/שלום/می\u200cخواهم/👩\u200d💻/<b>&amp;', '/שלום/می\u200cخواهم/👩\u200d💻/<b>&amp;'],
  ]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileRegexp, compileReplacement, LONGEST_TEXT, parseRegexp, parseReplacement } from './regexp.ts';

const reasonFor = (pattern: string): string => {
  const parsed = parseRegexp(pattern);
  return parsed.ok ? 'accepted' : parsed.reason;
};

test('an expression is RE2 in ASCII, and no larger than a byte of text may cost', () => {
  for (const pattern of ['^/v[0-9]+/', '(?i)googlebot|bingbot', '(a+)+$', '\\.(?:css|js)$', '\\xE9', '\\pL{2}'])
    assert.equal(reasonFor(pattern), 'accepted', pattern);
  for (const [pattern, reason] of [
    ['', /is empty/],
    ['(a', /not a regular expression of RE2: missing closing \)$/],
    ['(?=a)', /invalid or unsupported Perl syntax$/],
    ['(a)\\1', /invalid escape sequence$/],
    ['a{1001}', /invalid repeat count$/],
    ['((a{100}){100}){100}', /invalid repeat count$/],
    ['(?:a{500})', /too complex/],
    ['é', /ASCII/],
    ['a\n', /ASCII/],
    ['a'.repeat(1_001), /at most 1000 characters/],
  ] as const)
    assert.match(reasonFor(pattern), reason, pattern.slice(0, 30));
});

test('no message repeats the expression, which may come from a variable', () => {
  for (const pattern of ['(secret', '[secret', 'secret{2000}', '(?<secret', '*secret', 'secret\\'])
    assert.doesNotMatch(reasonFor(pattern), /secret/, pattern);
});

test('an expression matches anywhere in a text unless it is anchored, and never in one that is too long', () => {
  assert.ok(compileRegexp('b+')('abc'));
  assert.ok(!compileRegexp('^b')('abc'));
  assert.ok(!compileRegexp('B')('abc'));
  assert.ok(compileRegexp('B', true)('abc'));
  assert.ok(compileRegexp('^a+$')('a'.repeat(LONGEST_TEXT)));
  assert.ok(!compileRegexp('^a+$')('a'.repeat(LONGEST_TEXT + 1)));
});

test('bytes beyond ASCII are compared as Latin-1', () => assert.ok(compileRegexp('^\\xC3\\xA9$')('\u00c3\u00a9')));

test('a replacement names groups by number and by name, and every match is replaced', () => {
  const braced = (name: string): string => `$\{${name}}`;
  for (const [pattern, by, text, result] of [
    ['(\\d+)/(?P<word>[a-z]+)', '$2-$1', '12/ab 3/c', 'ab-12 c-3'],
    ['(\\d+)/(?P<word>[a-z]+)', `${braced('word')}_${braced('1')}x`, '12/ab', 'ab_12x'],
    ['a|(b)', '[$1$0]', 'ab', '[a][bb]'],
    ['a', '$$1', 'a', '$1'],
    ['^', 'x', 'ab', 'xab'],
    ['z', 'x', 'ab', 'ab'],
  ] as const)
    assert.equal(compileReplacement(pattern, by, 100)(text), result, by);
  for (const by of ['$2', '$1x', '$', 'a$ b', braced('2')]) assert.equal(parseReplacement('(a)', by).ok, false, by);
});

test('a replacement neither accepts nor produces a text that is too long', () => {
  assert.equal(compileReplacement('a', 'b', 10_000)('a'.repeat(LONGEST_TEXT + 1)), null);
  assert.equal(compileReplacement('a', 'b'.repeat(1_000), 10_000)('a'.repeat(LONGEST_TEXT)), null);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileRegexp, LONGEST_TEXT, parseRegexp } from './regexp.ts';

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

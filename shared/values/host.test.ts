import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseDomain, parseHost, wildcardOf } from './host.ts';

const reason = (text: string): string => {
  const parsed = parseDomain(text);
  return parsed.ok ? `accepted ${text}` : parsed.reason;
};
const LONGEST = `${'a.'.repeat(126)}a`;

describe('a domain', () => {
  const GOOD = [
    'example.com',
    '*.example.com',
    'localhost',
    '127.0.0.1',
    'a-b.c',
    'xn--bcher-kva.example',
    '*.com',
    '0',
    'a'.repeat(63),
    LONGEST,
  ];
  for (const text of GOOD) it(`may be ${text.slice(0, 30)}`, () => assert.deepEqual(parseDomain(text), { ok: true, value: text }));

  it('is stored in lower case', () => assert.deepEqual(parseDomain('*.ExAmPlE.COM'), { ok: true, value: '*.example.com' }));

  const BAD: Record<string, RegExp> = {
    '': /it is empty/,
    [`${LONGEST}b`]: /longer than 253 characters/,
    'http://a.example': /must not have a scheme/,
    'a.example:80': /must not have a port/,
    '[::1]': /is an IPv6 address/,
    '[2001:db8::7]:80': /is an IPv6 address/,
    '2001:db8::7': /is an IPv6 address/,
    'a.example.': /must not end with a dot/,
    '*.': /empty label/,
    '*': /one leading "\*\."/,
    '*.*.example': /one leading "\*\."/,
    'a.*.example': /one leading "\*\."/,
    'a*.example': /one leading "\*\."/,
    'a..b': /empty label/,
    '.a': /empty label/,
    [`${'a'.repeat(64)}.example`]: /label is longer than 63/,
    '-a.example': /letters, digits and inner hyphens/,
    'a-.example': /letters, digits and inner hyphens/,
    'a_b.example': /letters, digits and inner hyphens/,
    'a b': /letters, digits and inner hyphens/,
    'a/b': /letters, digits and inner hyphens/,
    'bücher.example': /letters, digits and inner hyphens; browsers send this name as xn--bcher-kva\.example, so write that$/,
    '*.bücher.example': /as \*\.xn--bcher-kva\.example, so write that$/,
    'bücher_1.example': /inner hyphens$/,
    'a\n': /letters, digits and inner hyphens/,
    '<script>': /letters, digits and inner hyphens/,
  };
  for (const [text, expected] of Object.entries(BAD))
    it(`may not be ${JSON.stringify(text.slice(0, 30))}`, () => assert.match(reason(text), expected));

  it('must not contain a letter that becomes ASCII only in lower case', () => {
    assert.match(reason('\u212a.example'), /letters, digits/, 'the Kelvin sign becomes k');
    assert.match(reason('\u0130.example'), /letters, digits/, 'the dotted capital I becomes i and a dot');
  });
});

describe('wildcardOf', () => {
  it('replaces exactly the first label', () => {
    assert.equal(wildcardOf('a.b.c'), '*.b.c');
    assert.equal(wildcardOf('a.b'), '*.b');
  });
  it('is undefined for a single label or an incomplete name', () => {
    for (const host of ['a', '', '.a', 'a.']) assert.equal(wildcardOf(host), undefined);
  });
});

describe('the host of counted requests', () => {
  for (const text of ['a.test', '*.a.test', '*', 'my_app.a.test', '-x.test', 'x..y', `${'x'.repeat(70)}.test`, '[::1]'])
    it(`may be ${text.slice(0, 30)}`, () => assert.deepEqual(parseHost(text), { ok: true, value: text }));

  it('is in lower case', () => assert.deepEqual(parseHost('[2001:DB8::A]'), { ok: true, value: '[2001:db8::a]' }));

  for (const text of ['', 'a b', 'a.test:80', 'http://a.test', '::1', '[fe80::1%eth0]', '[x]', 'é.test', 'a/b', 'x_'.repeat(127)])
    it(`is not ${text.slice(0, 30)}`, () => assert.equal(parseHost(text).ok, false));
});

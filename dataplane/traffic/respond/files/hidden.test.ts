import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileHidden } from './hidden.ts';

const hides = (pattern: string, name: string): boolean => compileHidden([pattern], true)([name]);

test('hidden names are patterns as in a Caddyfile, and a name with brackets hides itself', () => {
  for (const [pattern, hidden, shown] of [
    ['[ab]*', ['a', 'b.txt'], ['c', 'xa', '']],
    ['[^ab]*', ['c', 'x.txt'], ['a', 'b.txt', '']],
    ['[a-cx].bak', ['b.bak', 'x.bak'], ['d.bak', '-.bak', 'ab.bak']],
    ['v?.[0-9]', ['v1.2', 'vé.0', 'v😀.9'], ['v.2', 'v12.3']],
    ['*.bak', ['.bak', 'a.bak', 'a.bak.bak'], ['a.bak2', 'bak']],
    ['a*b*c', ['abc', 'aXbbYbcc'], ['ab', 'acb', 'abcd']],
    ['*a?[b]*b', ['aabb', 'xaaxbbb'], ['aab', 'abb']],
    ['[*][?]', ['*?'], ['a?', '*b']],
    ['**', ['', 'a'], []],
    ['[slug].html', ['[slug].html', 's.html'], ['x.html']],
    ['[z-a]', ['[z-a]'], ['a', 'z']],
  ] as const) {
    for (const name of hidden) assert.ok(hides(pattern, name), `${pattern} hides ${name}`);
    for (const name of shown) assert.ok(!hides(pattern, name), `${pattern} does not hide ${name}`);
  }
  for (const malformed of ['[', 'a[b', '[]', '[^]', '[a-]*', '[]a]']) {
    assert.ok(hides(malformed, malformed), malformed);
    for (const name of ['a', 'ab', ']a']) assert.ok(!hides(malformed, name), `${malformed} ${name}`);
  }
});

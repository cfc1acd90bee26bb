import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covers } from '../../../../shared/config-file/path-pattern.ts';
import { oneOf, pseudoRandom } from '../testing/pseudo-random.ts';
import { FirstCovering } from './first-covering.ts';

const PATTERNS = [null, '/*', '/', '/a', '/a*', '/a/', '/a/*', '/a/b', '/a/b*', '/a/b/*', '/b', '/b/*', '*.php', '*/a/*'];

test('the first pattern that covers another is found as if they were compared one after the other', () => {
  for (let seed = 1; seed <= 2_000; seed++) {
    const random = pseudoRandom(seed * 7_919);
    const patterns = Array.from({ length: random(6) }, () => oneOf(random, ['/a', ...PATTERNS]));
    const index = new FirstCovering<number>();
    for (const [at, pattern] of patterns.entries()) index.add(pattern, at);
    for (const inner of PATTERNS) {
      const expected = patterns.findIndex((outer) => covers(outer, inner));
      assert.equal(index.find(inner) ?? -1, expected, `${JSON.stringify(patterns)} ${inner}`);
    }
  }
});

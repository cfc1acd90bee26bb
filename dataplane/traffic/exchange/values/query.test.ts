import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasSeveral, parameterIn } from './query.ts';

test('a parameter has its first value, decoded, and an empty one without an equals sign', () => {
  for (const [query, value, several] of [
    ['', null, false],
    ['user', '', false],
    ['a=user&user=one&b=2', 'one', false],
    ['&&user=a=b', 'a=b', false],
    ['user&user', '', true],
    ['a&%75ser=+%C3%A9%zz&us%65r=2&', ' \xc3\xa9%zz', true],
    ['users=1&use=2&=user', null, false],
  ] as const)
    assert.deepEqual([parameterIn(query, 'user'), hasSeveral(query, 'user')], [value, several], query);
});

test('a parameter is found in linear time, whether or not others have values', () => {
  const costOf = (query: string): number => {
    const times = Array.from({ length: 20 }, () => {
      const before = performance.now();
      for (let nth = 0; nth < 5; nth++) hasSeveral(query, 'user');
      return performance.now() - before;
    });
    return Math.min(...times);
  };
  const [some, none] = [costOf('a=&'.repeat(20_000)), costOf('a&'.repeat(20_000))];
  assert.ok(none < 4 * some, `${none} instead of ${some} ms`);
});

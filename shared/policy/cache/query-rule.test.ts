import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileQueryRule, type QueryRule } from './query-rule.ts';

const left = (rule: QueryRule, target: string): string => compileQueryRule(rule)?.(target) ?? 'everything';

test('only the named parameters are left, in the order in which they were sent', () => {
  const rule = { query: ['page', 'sort', 'f_*'] };
  for (const [target, kept] of [
    ['/a', '/a'],
    ['/a?page=1', '/a?page=1'],
    ['/a?utm_source=x&sort=up&x&page=1&page=2', '/a?sort=up&page=1&page=2'],
    ['/a?f_size=1&ff=2&f_=3', '/a?f_size=1&f_=3'],
    ['/a?x', '/a'],
    ['/a?', '/a'],
    ['/a?Page=1&pag%65=2&p+age=3', '/a?pag%65=2'],
    ['/a?page=1?x=2', '/a?page=1?x=2'],
  ] as const)
    assert.equal(left(rule, target), kept, target);
});

test('ignored parameters are left out, however their names are spelled, and all others stay as they were sent', () => {
  const rule = { ignore_query: ['utm_*', 'gclid'] };
  for (const [target, kept] of [
    ['/a?utm_source=x', '/a'],
    ['/a?b=%20&utm_campaign=y&c', '/a?b=%20&c'],
    ['/a?%75tm_source=x&utm%5Fsource=y&gcl%69d', '/a'],
    ['/a?utm_source=x;id=2&id=3', '/a?id=3'],
    ['/a?utm=1&UTM_source=2&xutm_source=3', '/a?utm=1&UTM_source=2&xutm_source=3'],
    ['/a?%E0%A4%A=1&gclid', '/a?%E0%A4%A=1'],
    ['/a?&&utm_x&', '/a?&&'],
  ] as const)
    assert.equal(left(rule, target), kept, target);
  assert.equal(left({ ignore_query: ['*'] }, '/a?b&c=d'), '/a');
  assert.equal(left({ query: ['*'] }, '/a?b&c=d'), '/a?b&c=d');
  assert.equal(left({}, '/a?b'), 'everything');
});

test('applying a rule twice changes nothing more, and a rule changes nothing but the query', () => {
  for (const rule of [{ query: ['a', 'b*'] }, { ignore_query: ['a', 'b*'] }])
    for (const query of ['a', 'a=1&b=2', 'c=1&a', '&', 'b&b&bb=%', 'x&y&z=a&a=z', '']) {
      const once = left(rule, `/a=1&b/%3Fa=1?${query}`);
      assert.equal(left(rule, once), once);
      assert.ok(once.startsWith('/a=1&b/%3Fa=1'));
    }
});

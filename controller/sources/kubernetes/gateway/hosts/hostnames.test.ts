import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coveringNames, covers, intersect } from './hostnames.ts';

test('two names share the hosts of the more specific one, or none', () => {
  const table: [a: string | null, b: string | null, both: string | null | undefined][] = [
    [null, null, null],
    [null, 'a.test', 'a.test'],
    ['a.test', null, 'a.test'],
    ['a.test', 'a.test', 'a.test'],
    ['a.test', 'b.test', undefined],
    ['*.a.test', 'x.a.test', 'x.a.test'],
    ['*.a.test', 'x.y.a.test', 'x.y.a.test'],
    ['*.a.test', 'a.test', undefined],
    ['*.a.test', 'xa.test', undefined],
    ['*.a.test', '*.test', '*.a.test'],
    ['*.x.a.test', '*.a.test', '*.x.a.test'],
    ['*.a.test', '*.b.test', undefined],
  ];
  for (const [a, b, both] of table) {
    assert.equal(intersect(a, b), both, `${a} and ${b}`);
    assert.equal(intersect(b, a), both, `${b} and ${a}`);
  }
});

test('the names that cover a name are all that cover it, the most specific one first', () => {
  assert.deepEqual(coveringNames('a.b.test'), ['a.b.test', '*.b.test', '*.test', null]);
  assert.deepEqual(coveringNames('*.b.test'), ['*.b.test', '*.test', null]);
  assert.deepEqual(coveringNames(null), [null]);
  for (const name of ['a.b.c.test', '*.c.test', 'test'])
    for (const outer of coveringNames(name)) assert.ok(covers(outer, name), `${outer} covers ${name}`);
});

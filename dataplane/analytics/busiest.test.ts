import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Busiest } from './busiest.ts';

test('the items with the highest scores are kept, highest first, as sorting all of them would', () => {
  const scores = Array.from({ length: 5_000 }, (_, at) => (at * 7_919) % 4_999);
  const busiest = new Busiest<number>(100);
  for (const score of scores) busiest.add(score, score);
  assert.deepEqual(busiest.list(), scores.toSorted((a, b) => b - a).slice(0, 100));
});

test('fewer items than the limit are all kept, in their order where scores are equal', () => {
  const busiest = new Busiest<string>(100);
  for (const name of ['a', 'b', 'c']) busiest.add(name, name === 'c' ? 1 : 0);
  assert.deepEqual(busiest.list(), ['c', 'a', 'b']);
});

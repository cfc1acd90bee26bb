import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listed, place } from './placement.ts';

const alone = (core: number): number[] => [core];

test('on two cores, the upstream shares the core of the load', () => {
  assert.deepEqual(place([0, 1], alone), { proxy: 0, load: 1, upstream: 1, second: null });
});

test('a fourth core is used by the second worker', () => {
  assert.deepEqual(place([2, 3, 4, 5], alone), { proxy: 2, load: 3, upstream: 4, second: 5 });
});

test('the load is not on the other thread of the core of the proxy, if there is another core', () => {
  const siblings = (core: number): number[] => (core < 2 ? [0, 1] : [2, 3]);
  assert.deepEqual(place([0, 1, 2, 3], siblings), { proxy: 0, load: 2, upstream: 3, second: 1 });
});

test('one core is too few', () => {
  assert.throws(() => place([0], alone), /two cores/);
});

test('lists of cores have ranges', () => {
  assert.deepEqual(listed('0-2,5,7-8\n'), [0, 1, 2, 5, 7, 8]);
});

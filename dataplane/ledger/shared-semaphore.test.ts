import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turns } from './shared-semaphore.ts';

const twoViews = (): [Turns, Turns] => {
  const buffer = Turns.buffer(3);
  return [new Turns(buffer), new Turns(buffer)];
};

test('two have a turn at once, whoever they are, and the next when one of them is done', () => {
  const [one, other] = twoViews();
  assert.deepEqual([one.take(0), other.take(1), one.take(0), other.take(2)], [true, true, false, false]);
  other.give(1);
  assert.deepEqual([one.take(0), other.take(1)], [true, false]);
});

test('256 wait in all; one who goes makes room', () => {
  const [one, other] = twoViews();
  for (let nth = 0; nth < 128; nth++) assert.deepEqual([one.join(0), other.join(1)], [true, true]);
  assert.equal(one.join(2), false);
  other.leave(1);
  assert.deepEqual([one.join(2), other.join(1)], [true, false]);
});

test('what a worker held is free when it is gone', () => {
  const [turns] = twoViews();
  for (let nth = 0; nth < 2; nth++) turns.take(1);
  for (let nth = 0; nth < 256; nth++) turns.join(1);
  assert.equal(turns.othersWait(0), true);
  assert.equal(turns.othersWait(1), false);
  turns.clearWorker(1);
  assert.equal(turns.othersWait(0), false);
  assert.deepEqual([turns.take(0), turns.take(2), turns.join(0)], [true, true, true]);
  turns.clearWorker(1);
  assert.equal(turns.take(1), false, "others' turns are not touched");
});

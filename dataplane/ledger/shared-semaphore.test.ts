import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedSemaphore } from './shared-semaphore.ts';

const twoViews = (): [SharedSemaphore, SharedSemaphore] => {
  const buffer = SharedSemaphore.buffer(3);
  return [new SharedSemaphore(buffer), new SharedSemaphore(buffer)];
};

test('two holders are allowed at once, in any workers, and the next one after a release', () => {
  const [one, other] = twoViews();
  assert.deepEqual([one.tryAcquire(0), other.tryAcquire(1), one.tryAcquire(0), other.tryAcquire(2)], [true, true, false, false]);
  other.release(1);
  assert.deepEqual([one.tryAcquire(0), other.tryAcquire(1)], [true, false]);
});

test('at most 256 wait in total, and each that leaves makes room for another', () => {
  const [one, other] = twoViews();
  for (let nth = 0; nth < 128; nth++) assert.deepEqual([one.enqueue(0), other.enqueue(1)], [true, true]);
  assert.equal(one.enqueue(2), false);
  other.dequeue(1);
  assert.deepEqual([one.enqueue(2), other.enqueue(1)], [true, false]);
});

test('the permits of a dead worker are freed', () => {
  const [semaphore] = twoViews();
  for (let nth = 0; nth < 2; nth++) semaphore.tryAcquire(1);
  for (let nth = 0; nth < 256; nth++) semaphore.enqueue(1);
  assert.equal(semaphore.othersWait(0), true);
  assert.equal(semaphore.othersWait(1), false);
  semaphore.clearWorker(1);
  assert.equal(semaphore.othersWait(0), false);
  assert.deepEqual([semaphore.tryAcquire(0), semaphore.tryAcquire(2), semaphore.enqueue(0)], [true, true, true]);
  semaphore.clearWorker(1);
  assert.equal(semaphore.tryAcquire(1), false, "others' semaphore are not touched");
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RunQueue } from './run-queue.ts';

test('waiting connections continue in order, a few per turn, and those with more work queue again at the back', async () => {
  const queue = new RunQueue();
  const ran: number[] = [];
  const again = {
    run: () => {
      ran.push(-1);
      if (ran.length < 12) queue.add(again);
    },
  };
  queue.add(again);
  for (let nth = 0; nth < 10; nth++) queue.add({ run: () => ran.push(nth) });
  assert.deepEqual(ran, []);
  await nextTurn();
  assert.deepEqual(ran, [-1, 0, 1, 2]);
  await nextTurn();
  assert.deepEqual(ran, [-1, 0, 1, 2, 3, 4, 5, 6]);
  while (ran.length < 12) await nextTurn();
  assert.deepEqual(ran.slice(8), [7, 8, 9, -1]);
});

test('an exception in one connection keeps no other from its turn', (t) => {
  t.mock.timers.enable({ apis: ['setImmediate'] });
  const queue = new RunQueue();
  const ran: number[] = [];
  const fail = (): never => {
    throw new Error('failed');
  };
  for (let nth = 0; nth < 6; nth++) queue.add({ run: nth === 1 ? fail : () => ran.push(nth) });
  assert.throws(() => t.mock.timers.tick(1), /failed/);
  for (let turn = 0; turn < 3; turn++) t.mock.timers.tick(1);
  assert.deepEqual(
    ran.sort((a, b) => a - b),
    [0, 2, 3, 4, 5],
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HandshakeQueue } from './handshake-queue.ts';

/** A queue on a clock of its own, and handshakes that take a time each (ms). */
function queueOf() {
  let now = 1_000;
  const begun: number[] = [];
  const queue = new HandshakeQueue(() => now);
  const pass = (ms: number): void => {
    now += ms;
  };
  const add = (nth: number, takesMs = 1): void =>
    queue.add({
      run: () => {
        begun.push(nth);
        pass(takesMs);
      },
    });
  return { queue, begun, add, pass };
}

test('handshakes begin in order, one in each turn of the event loop while nothing else takes time', async () => {
  const { begun, add } = queueOf();
  for (let nth = 0; nth < 3; nth++) add(nth);
  assert.deepEqual(begun, []);
  await nextTurn();
  assert.deepEqual(begun, [0]);
  await nextTurn();
  await nextTurn();
  assert.deepEqual(begun, [0, 1, 2]);
});

test('in each turn, handshakes get as much time as requests have had, so that a busy worker takes new clients, too', async () => {
  const { begun, add, pass } = queueOf();
  for (let nth = 0; nth < 9; nth++) add(nth, 2);
  pass(5);
  await nextTurn();
  assert.deepEqual(begun, [0, 1, 2]);
  pass(3);
  await nextTurn();
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
  // However long the others have had: their next turn must come, too.
  pass(1_000);
  await nextTurn();
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test('no more than four begin in one turn', async () => {
  const { begun, add, pass } = queueOf();
  for (let nth = 0; nth < 6; nth++) add(nth);
  pass(1_000);
  await nextTurn();
  assert.deepEqual(begun, [0, 1, 2, 3]);
  await nextTurn();
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
});

test('time in which no handshake waits does not count', async () => {
  const { begun, add, pass } = queueOf();
  add(0);
  await nextTurn();
  pass(1_000);
  add(1);
  add(2);
  await nextTurn();
  assert.deepEqual(begun, [0, 1]);
});

test('an exception of one handshake keeps no others waiting', async (t) => {
  const { queue, begun, add } = queueOf();
  const thrown: unknown[] = [];
  process.setUncaughtExceptionCaptureCallback((error) => thrown.push(error));
  t.after(() => process.setUncaughtExceptionCaptureCallback(null));
  const error = new Error('of this handshake');
  queue.add({
    run: () => {
      throw error;
    },
  });
  add(1);
  await nextTurn();
  await nextTurn();
  assert.deepEqual([thrown, begun], [[error], [1]]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { type Heap, watchMemory } from './memory-watchdog.ts';

const LOOK_MS = 10_000;
const heap = (worker: number, used: number): Heap => ({ worker, used, limit: 100 });

/** Checks each of the given states once. @returns the replaced workers with the time each was given. */
async function watched(looks: readonly (readonly Heap[])[], replace = () => Promise.resolve()): Promise<string[]> {
  const clock = new ManualClock();
  const replaced: string[] = [];
  let heaps: readonly Heap[] = [];
  const workers = {
    heaps: () => Promise.resolve(heaps),
    replace: (worker: number, withinMs: number) => {
      replaced.push(`${worker} within ${withinMs}`);
      return replace();
    },
  };
  watchMemory(workers, { clock, log: memoryLog(), drainMs: () => 7_000 });
  for (heaps of looks) {
    clock.pass(LOOK_MS);
    await nextTurn();
  }
  return replaced;
}

const times = <T>(count: number, what: T): T[] => Array.from({ length: count }, () => what);

test('a worker that uses more than 70 % of its heap in three consecutive checks is replaced', async () => {
  assert.deepEqual(await watched(times(2, [heap(1, 71)])), []);
  assert.deepEqual(await watched(times(3, [heap(1, 71)])), ['1 within 7000']);
  assert.deepEqual(await watched(times(9, [heap(1, 70)])), []);
});

test('a worker that frees memory in between is kept', async () => {
  assert.deepEqual(await watched([[heap(1, 99)], [heap(1, 99)], [heap(1, 20)], [heap(1, 99)], [heap(1, 99)]]), []);
});

test('a worker that does not respond is not judged by an earlier measurement', async () => {
  assert.deepEqual(await watched([[heap(1, 99)], [heap(1, 99)], [], [heap(1, 99)]]), []);
});

test('only the largest worker is replaced, and the next one ten minutes later', async () => {
  const large = [heap(1, 80), heap(2, 90)];
  assert.deepEqual(await watched(times(62, large)), ['2 within 7000']);
  assert.deepEqual(await watched([...times(3, large), ...times(60, [heap(1, 80)])]), ['2 within 7000', '1 within 7000']);
});

test('a failed replacement is retried after ten minutes, too', async () => {
  const failing = () => Promise.reject(new Error('no'));
  assert.deepEqual(await watched(times(63, [heap(1, 80)]), failing), ['1 within 7000', '1 within 7000']);
});

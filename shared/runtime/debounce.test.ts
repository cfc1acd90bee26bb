import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDebounce, type Debounce } from './debounce.ts';
import { ManualClock } from './testing/manual-clock.ts';

function counted(): { clock: ManualClock; debounce: Debounce; runs: () => number } {
  const clock = new ManualClock();
  let runs = 0;
  const debounce = createDebounce(clock, { quietMs: 100, maxMs: 500 }, () => {
    runs += 1;
  });
  return { clock, debounce, runs: () => runs };
}

test('a burst of triggers is one run, after the quiet time', () => {
  const { clock, debounce, runs } = counted();
  for (let at = 0; at < 4; at++) {
    debounce.trigger();
    clock.pass(50);
  }
  assert.equal(runs(), 0);
  clock.pass(49);
  assert.equal(runs(), 0);
  clock.pass(1);
  assert.equal(runs(), 1);
  clock.pass(1_000);
  assert.equal(runs(), 1);
});

test('triggers without a pause run the task after the longest time', () => {
  const { clock, debounce, runs } = counted();
  for (let at = 0; at < 10; at++) {
    debounce.trigger();
    clock.pass(50);
  }
  assert.equal(runs(), 1);
});

test('a flush runs at once and includes pending triggers', () => {
  const { clock, debounce, runs } = counted();
  debounce.trigger();
  debounce.flush();
  assert.equal(runs(), 1);
  clock.pass(1_000);
  assert.equal(runs(), 1);
});

test('nothing runs after it is stopped, by a trigger or a flush either', () => {
  const { clock, debounce, runs } = counted();
  debounce.trigger();
  debounce.stop();
  clock.pass(1_000);
  debounce.trigger();
  clock.pass(1_000);
  debounce.flush();
  assert.equal(runs(), 0);
});

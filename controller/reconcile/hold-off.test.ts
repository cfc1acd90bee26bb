import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { createHoldOff } from './hold-off.ts';

function counted(): { clock: ManualClock; holdOff: ReturnType<typeof createHoldOff>; runs: () => number } {
  const clock = new ManualClock();
  let runs = 0;
  const holdOff = createHoldOff(clock, () => {
    runs += 1;
  });
  return { clock, holdOff, runs: () => runs };
}

test('a burst of changes is one run, 100 ms after the last', () => {
  const { clock, holdOff, runs } = counted();
  for (let at = 0; at < 4; at++) {
    holdOff.trigger();
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

test('changes without a pause are run after 500 ms', () => {
  const { clock, holdOff, runs } = counted();
  for (let at = 0; at < 10; at++) {
    holdOff.trigger();
    clock.pass(50);
  }
  assert.equal(runs(), 1);
});

test('a flush runs at once and includes pending changes', () => {
  const { clock, holdOff, runs } = counted();
  holdOff.trigger();
  holdOff.flush();
  assert.equal(runs(), 1);
  clock.pass(1_000);
  assert.equal(runs(), 1);
});

test('does not run after it is stopped', () => {
  const { clock, holdOff, runs } = counted();
  holdOff.trigger();
  holdOff.stop();
  clock.pass(1_000);
  assert.equal(runs(), 0);
});

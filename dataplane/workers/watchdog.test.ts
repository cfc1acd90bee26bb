import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { Heartbeats } from '../ledger/heartbeats.ts';
import { Watchdog } from './watchdog.ts';

function underTest() {
  const clock = new ManualClock();
  const heartbeats = new Heartbeats(Heartbeats.buffer(2));
  const watchdog = new Watchdog(clock, heartbeats);
  /** Checks periodically for this long, as the pool does. @returns when a slot was first found silent (ms), or null. */
  const watch = (ms: number, slots: readonly number[], beating: readonly number[] = []): number | null => {
    for (let passed = Watchdog.PERIOD_MS; passed <= ms; passed += Watchdog.PERIOD_MS) {
      clock.pass(Watchdog.PERIOD_MS);
      for (const slot of beating) heartbeats.beat(slot);
      if (watchdog.check(slots).size > 0) return passed;
    }
    return null;
  };
  return { clock, watchdog, watch };
}

test('a worker is silent 2 s after its event loop stops, and never while it runs', () => {
  const { watch } = underTest();
  assert.equal(watch(10_000, [0, 1], [0, 1]), null);
  assert.equal(watch(10_000, [0, 1], [0]), 2_000);
});

test('a slow start does not make a worker silent, also in a slot that was used before', () => {
  const { watchdog, watch } = underTest();
  watch(1_000, [0, 1], [0, 1]);
  for (const started of [2_000, 20_000]) {
    watchdog.forget(1);
    assert.equal(watch(started, [0], [0]), null);
    // It serves, but has not sent its first heartbeat.
    assert.equal(watch(1_750, [0, 1], [0]), null);
    assert.equal(watch(1_000, [0, 1], [0]), 500, 'without a heartbeat it is silent like any other');
  }
});

test('time during which the watching thread itself was blocked is not counted', () => {
  const { clock, watchdog, watch } = underTest();
  watch(1_000, [0], [0]);
  clock.pass(60_000);
  assert.equal(watchdog.check([0]).size, 0);
  assert.equal(watch(10_000, [0]), 2_000 - Watchdog.PERIOD_MS);
});

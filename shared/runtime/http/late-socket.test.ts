import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../testing/manual-clock.ts';
import { openLate } from './late-socket.ts';

/** Tries to open something for which there is no place at first. */
async function scene() {
  const clock = new ManualClock();
  const state = { tries: 0, possible: false, said: [] as string[] };
  const open = () => {
    state.tries++;
    return state.possible ? Promise.resolve() : Promise.reject(new Error('no place'));
  };
  const stop = await openLate(clock, open, { failed: () => state.said.push('failed'), opened: () => state.said.push('opened') });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.pass(1_000);
      await new Promise(setImmediate);
    }
  };
  return { state, pass, stop };
}

test('a socket that can’t be opened is tried again until it can, and that is said once', async () => {
  const { state, pass } = await scene();
  await pass(35_000);
  assert.deepEqual([state.tries, state.said], [4, ['failed']]);
  state.possible = true;
  await pass(60_000);
  assert.deepEqual([state.tries, state.said], [5, ['failed', 'opened']]);
});

test('it is not tried any more once it is not wanted', async () => {
  const { state, pass, stop } = await scene();
  await pass(15_000);
  await stop();
  state.possible = true;
  await pass(60_000);
  assert.deepEqual([state.tries, state.said], [2, ['failed']]);
});

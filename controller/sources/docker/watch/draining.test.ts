import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { createDraining, DRAIN_TIMEOUT_MS } from './draining.ts';

function started() {
  const clock = new ManualClock();
  const expired: string[] = [];
  const timeouts = new Map<string, number>();
  const draining = createDraining(
    clock,
    (id) => expired.push(id),
    (id) => timeouts.get(id) ?? 0,
  );
  return { clock, expired, draining, timeouts, ids: () => [...draining.ids()] };
}

test('a container that was sent a stop signal drains until it exits', () => {
  const { draining, ids, expired, clock } = started();
  draining.begin('a');
  assert.deepEqual(ids(), ['a']);
  draining.end('a');
  clock.pass(DRAIN_TIMEOUT_MS);
  assert.deepEqual([ids(), expired], [[], []]);
});

test('a container still running after a minute is restored, until the next signal', () => {
  const { draining, ids, expired, clock } = started();
  draining.begin('a');
  clock.pass(DRAIN_TIMEOUT_MS - 1);
  assert.deepEqual(ids(), ['a']);
  clock.pass(1);
  assert.deepEqual([ids(), expired], [[], ['a']]);
  draining.begin('a');
  assert.deepEqual(ids(), ['a']);
});

test('a container with a longer stop timeout drains until it has been over for a while', () => {
  const { draining, ids, expired, clock, timeouts } = started();
  for (const id of ['a', 'b']) draining.begin(id);
  clock.pass(1_000);
  // Signals of the last minute are repeated after a start, before containers are known.
  timeouts.set('a', 120).set('b', 10);
  clock.pass(DRAIN_TIMEOUT_MS - 1_000);
  assert.deepEqual([ids(), expired], [['a'], ['b']]);
  clock.pass(120_000 - DRAIN_TIMEOUT_MS);
  assert.deepEqual(ids(), ['a']);
  clock.pass(10_000);
  assert.deepEqual([ids(), expired], [[], ['b', 'a']]);
});

test('a second signal restarts the minute', () => {
  const { draining, ids, clock } = started();
  draining.begin('a');
  clock.pass(DRAIN_TIMEOUT_MS - 1);
  draining.begin('a');
  clock.pass(DRAIN_TIMEOUT_MS - 1);
  assert.deepEqual(ids(), ['a']);
});

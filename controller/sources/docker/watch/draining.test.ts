import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { createDraining, DRAIN_TIMEOUT_MS } from './draining.ts';

function started() {
  const clock = new ManualClock();
  const expired: string[] = [];
  const draining = createDraining(clock, (id) => expired.push(id));
  return { clock, expired, draining, ids: () => [...draining.ids()] };
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
  const { draining, ids, expired, clock } = started();
  draining.begin('a', 120);
  draining.begin('b', 10);
  clock.pass(DRAIN_TIMEOUT_MS);
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import type { Container } from '../engine/container.ts';
import { createDraining, DRAIN_TIMEOUT_MS } from './draining.ts';

const STOPPABLE: Pick<Container, 'startedAt' | 'stopSignal' | 'stopTimeoutSecs'> = {
  startedAt: null,
  stopSignal: null,
  stopTimeoutSecs: 0,
};

function started() {
  const clock = new ManualClock();
  const expired: string[] = [];
  const containers = new Map<string, typeof STOPPABLE>();
  const draining = createDraining(
    clock,
    (id) => expired.push(id),
    (id) => containers.get(id),
  );
  return { clock, expired, draining, containers, ids: () => [...draining.ids()] };
}

test('a container that was sent a stop signal drains until it exits', () => {
  const { draining, ids, expired, clock } = started();
  draining.begin('a', 'SIGTERM', 0);
  assert.deepEqual(ids(), ['a']);
  draining.end('a');
  clock.pass(DRAIN_TIMEOUT_MS);
  assert.deepEqual([ids(), expired], [[], []]);
});

test('a container still running after a minute is restored, until the next signal', () => {
  const { draining, ids, expired, clock } = started();
  draining.begin('a', 'SIGTERM', 0);
  clock.pass(DRAIN_TIMEOUT_MS - 1);
  assert.deepEqual(ids(), ['a']);
  clock.pass(1);
  assert.deepEqual([ids(), expired], [[], ['a']]);
  draining.begin('a', 'SIGTERM', 0);
  assert.deepEqual(ids(), ['a']);
});

test('a container with a longer stop timeout drains until it has been over for a while', () => {
  const { draining, ids, expired, clock, containers } = started();
  for (const id of ['a', 'b']) draining.begin(id, '15', 0);
  clock.pass(1_000);
  // Signals of the last minute are repeated after a start, before containers are known.
  containers.set('a', { ...STOPPABLE, stopTimeoutSecs: 120 }).set('b', { ...STOPPABLE, stopTimeoutSecs: 10 });
  clock.pass(DRAIN_TIMEOUT_MS - 1_000);
  assert.deepEqual([ids(), expired], [['a'], ['b']]);
  clock.pass(120_000 - DRAIN_TIMEOUT_MS);
  assert.deepEqual(ids(), ['a']);
  clock.pass(10_000);
  assert.deepEqual([ids(), expired], [[], ['b', 'a']]);
});

test('a second signal restarts the minute', () => {
  const { draining, ids, clock } = started();
  draining.begin('a', 'SIGTERM', 0);
  clock.pass(DRAIN_TIMEOUT_MS - 1);
  draining.begin('a', 'SIGTERM', 0);
  clock.pass(DRAIN_TIMEOUT_MS - 1);
  assert.deepEqual(ids(), ['a']);
});

test('a stop timeout counts only after the signal with which the engine stops the container', () => {
  const { draining, ids, clock, containers } = started();
  containers.set('a', { ...STOPPABLE, stopTimeoutSecs: 300 });
  containers.set('b', { ...STOPPABLE, stopTimeoutSecs: 300, stopSignal: 'SIGQUIT' });
  for (const id of ['a', 'b']) draining.begin(id, '3', 0);
  clock.pass(DRAIN_TIMEOUT_MS);
  assert.deepEqual(ids(), ['b']);
  draining.begin('a', 'SIGTERM', 0);
  clock.pass(DRAIN_TIMEOUT_MS);
  assert.deepEqual(ids(), ['b', 'a']);
});

test('a container that has started again since its stop signal does not drain, unless the signal was for its new process', () => {
  const { draining, ids, containers } = started();
  const at = (seconds: number) => new Date(seconds * 1_000).toISOString();
  containers.set('a', { ...STOPPABLE, startedAt: at(1) });
  draining.begin('a', '15', 2_000);
  assert.deepEqual(ids(), ['a']);
  containers.set('a', { ...STOPPABLE, startedAt: at(3) });
  assert.deepEqual(ids(), []);
  // Its start is inspected only after the signal.
  containers.set('b', { ...STOPPABLE, startedAt: at(1) });
  draining.begin('b', '15', 4_000);
  containers.set('b', { ...STOPPABLE, startedAt: at(3) });
  assert.deepEqual(ids(), ['b']);
  // It started before the clock was set back.
  containers.set('c', { ...STOPPABLE, startedAt: at(5_000) });
  draining.begin('c', '15', 4_000);
  assert.deepEqual(ids(), ['b', 'c']);
});

test('a signal that is repeated later counts from when it was sent, once it is known what stops the container and how long that takes', () => {
  const { draining, ids, clock, containers, expired } = started();
  for (const id of ['a', 'b', 'c']) draining.begin(id, '15', 0, 120_000);
  draining.begin('d', 'SIGWINCH', 0, 10_000);
  draining.begin('e', 'SIGWINCH', 0, 10_000);
  draining.begin('f', '15', 0, 120_000);
  draining.begin('f', 'HUP', 0, 1_000);
  for (const id of ['a', 'b', 'd', 'f']) containers.set(id, STOPPABLE);
  containers.set('c', { ...STOPPABLE, stopTimeoutSecs: 300 }).set('e', { ...STOPPABLE, stopSignal: 'SIGWINCH' });
  assert.deepEqual(ids(), ['c', 'e']);
  clock.pass(DRAIN_TIMEOUT_MS - 10_000);
  assert.deepEqual(ids(), ['c']);
  clock.pass(310_000 - 120_000 - DRAIN_TIMEOUT_MS + 10_000 - 1);
  assert.deepEqual(ids(), ['c']);
  clock.pass(1);
  assert.deepEqual(ids(), []);
  assert.deepEqual(expired.sort(), ['a', 'b', 'c', 'd', 'e', 'f']);
});

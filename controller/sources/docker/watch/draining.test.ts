import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { createLifecycle, OUTLIVED_MS } from './draining.ts';

function started() {
  const clock = new ManualClock();
  const outlived: string[] = [];
  const lifecycle = createLifecycle(clock, (id) => outlived.push(id));
  return { clock, outlived, lifecycle, draining: () => [...lifecycle.draining()] };
}

test('a container that was told to end drains until it ends', () => {
  const { lifecycle, draining, outlived, clock } = started();
  lifecycle.stopping('a');
  assert.deepEqual(draining(), ['a']);
  lifecycle.over('a');
  clock.pass(OUTLIVED_MS);
  assert.deepEqual([draining(), outlived], [[], []]);
});

test('one that runs on for a minute is taken back, until it is told again', () => {
  const { lifecycle, draining, outlived, clock } = started();
  lifecycle.stopping('a');
  clock.pass(OUTLIVED_MS - 1);
  assert.deepEqual(draining(), ['a']);
  clock.pass(1);
  assert.deepEqual([draining(), outlived], [[], ['a']]);
  lifecycle.stopping('a');
  assert.deepEqual(draining(), ['a']);
});

test('a second signal begins the minute anew', () => {
  const { lifecycle, draining, clock } = started();
  lifecycle.stopping('a');
  clock.pass(OUTLIVED_MS - 1);
  lifecycle.stopping('a');
  clock.pass(OUTLIVED_MS - 1);
  assert.deepEqual(draining(), ['a']);
});

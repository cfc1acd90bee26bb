import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { FAILURE } from '../../exchange/failure.ts';
import { LossWatch, SLOW_MS } from './loss-watch.ts';

function watch() {
  const clock = new ManualClock();
  const world = { clock, reports: 0, loss: new LossWatch(clock, () => world.reports++) };
  return world;
}

test('a connection that is not accepted is reported, and one that was closed later is not', () => {
  for (const [failure, reports] of [
    [FAILURE.refused, 1],
    [FAILURE.unreachable, 1],
    [FAILURE.connectTimeout, 1],
    [FAILURE.closed, 0],
    [FAILURE.headTimeout, 0],
    [FAILURE.tls, 0],
    [FAILURE.badStatus, 0],
  ] as const) {
    const world = watch();
    world.loss.failed(failure);
    assert.equal(world.reports, reports, failure.code);
  }
});

test('a target that stays unreachable is reported ten times a second', () => {
  const world = watch();
  for (let ms = 0; ms < 1_000; ms++) {
    world.loss.failed(FAILURE.refused);
    world.clock.pass(1);
  }
  assert.equal(world.reports, 10);
});

const attempt = () => ({ connecting: true, destroyed: false });

async function slow({ clock }: { readonly clock: ManualClock }): Promise<void> {
  clock.pass(SLOW_MS);
  await nextTurn();
}

test('a connection that is not established in a quarter of a second is reported, unless another one is', async () => {
  const world = watch();
  world.loss.connecting(attempt());
  world.clock.pass(SLOW_MS - 1);
  assert.equal(world.reports, 0);
  world.loss.connected();
  await slow(world);
  assert.equal(world.reports, 0);
  world.loss.connecting(attempt());
  await slow(world);
  assert.equal(world.reports, 1);
});

test('neither one that is established, and waits for TLS, nor one that was given up is slow', async () => {
  for (const state of [{ connecting: false }, { destroyed: true }]) {
    const world = watch();
    const socket = attempt();
    world.loss.connecting(socket);
    Object.assign(socket, state);
    await slow(world);
    assert.equal(world.reports, 0);
  }
});

test('one that is established before the sockets are polled, after a turn that took long, is not slow', async () => {
  const world = watch();
  const socket = attempt();
  world.loss.connecting(socket);
  world.clock.pass(SLOW_MS);
  socket.connecting = false;
  await nextTurn();
  assert.equal(world.reports, 0);
});

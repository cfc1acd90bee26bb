import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Liveness } from './liveness.ts';

test('SETTINGS have to be acknowledged within 20 seconds (RFC 9113 6.5.3)', () => {
  const liveness = new Liveness(1_000, 'client');
  assert.deepEqual([liveness.settingsOverdue(20_999), liveness.settingsOverdue(21_000)], [false, true]);
  liveness.settingsAcknowledged();
  assert.equal(liveness.settingsOverdue(90_000), false);
});

test('a client that is silent for 30 seconds while a stream is open gets one PING, and has 30 seconds to respond', () => {
  const liveness = new Liveness(0, 'client');
  const states = [10_000, 30_000, 45_000, 59_999, 60_000].map((now) => liveness.check(now, false, true));
  assert.deepEqual(states, ['alive', 'ping', 'alive', 'alive', 'gone']);
});

test('any frame is a sign of life', () => {
  const liveness = new Liveness(0, 'client');
  assert.equal(liveness.check(30_000, false, true), 'ping');
  assert.equal(liveness.check(59_000, true, true), 'alive');
  assert.equal(liveness.check(88_000, false, true), 'alive');
  assert.equal(liveness.check(89_000, false, true), 'ping');
});

test('a peer without open streams gets no PING', () => {
  const liveness = new Liveness(0, 'client');
  assert.equal(liveness.check(90_000, false, false), 'alive');
  assert.equal(liveness.check(100_000, false, true), 'alive');
});

test('a target gets no more than one PING in five minutes, for more of which gRPC servers end connections', () => {
  const liveness = new Liveness(0, 'target');
  const pings: number[] = [];
  for (let now = 0; now <= 1_800_000; now += 500) if (liveness.check(now, pings.at(-1) === now - 500, true) === 'ping') pings.push(now);
  assert.equal(pings.length, 5);
  for (const [at, time] of pings.entries()) assert.ok(time - (pings[at - 1] ?? Number.NEGATIVE_INFINITY) > 300_000);
});

test('a target that no longer responds is found out after a minute, as a call without a deadline would wait for ever', () => {
  const liveness = new Liveness(0, 'target');
  const states = [29_999, 30_000, 59_999, 60_000].map((now) => liveness.check(now, false, true));
  assert.deepEqual(states, ['alive', 'ping', 'alive', 'gone']);
});

test('a target that no longer responds is found out also if each of its streams is given up before that', () => {
  const liveness = new Liveness(0, 'target');
  const states: string[] = [];
  for (let now = 1_000; states.at(-1) !== 'gone'; now += 1_000) states.push(liveness.check(now, false, now % 10_000 < 5_000));
  assert.deepEqual(
    states.filter((state) => state !== 'alive'),
    ['ping', 'gone'],
  );
  assert.equal(states.length, 60);
});

test('silence while no stream has been open since the last frame says nothing about a target', () => {
  const liveness = new Liveness(0, 'target');
  assert.equal(liveness.check(10_000, false, true), 'alive');
  assert.equal(liveness.check(20_000, true, false), 'alive');
  assert.equal(liveness.check(60_000, false, false), 'alive');
  assert.equal(liveness.check(89_000, false, true), 'alive');
  assert.equal(liveness.check(90_000, false, true), 'ping');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../runtime/testing/manual-clock.ts';
import type { Child, ChildEvents } from './child.ts';
import { reportingSilence } from './silence.ts';

const CHILD: Child = { pid: 7, lastWords: '', send: () => undefined, signal: () => undefined };

function scene() {
  const clock = new ManualClock();
  let slept = 0;
  const monotonic = () => clock.monotonic() + slept;
  const said: string[] = [];
  const received: string[] = [];
  let events: ChildEvents = { received: () => undefined, ended: () => undefined };
  const start = reportingSilence(
    (_, given) => {
      events = given;
      return CHILD;
    },
    {
      clock: { now: () => 0, monotonic, after: clock.after.bind(clock), every: clock.every.bind(clock) },
      report: (_, message) => said.push(message.replace(/:.*/, '')),
    },
  );
  start({ launcher: '', argv: [] }, { received: ({ kind }) => received.push(kind), ended: (code) => received.push(`ended ${code}`) });
  const alive = () => events.received({ kind: 'alive' });
  const sleep = (ms: number): void => {
    slept += ms;
  };
  return { clock, said, received, alive, sleep, says: events };
}

test('a process that stops saying that it is alive is reported once, and when it does again', () => {
  const { clock, said, alive } = scene();
  for (let passed = 0; passed < 10; passed++) {
    alive();
    clock.pass(10_000);
  }
  assert.deepEqual(said, []);
  clock.pass(120_000);
  assert.deepEqual(said, ['the data plane does not respond']);
  alive();
  assert.deepEqual(said, ['the data plane does not respond', 'the data plane responds again']);
  clock.pass(60_000);
  assert.equal(said.length, 3);
});

test('time in which the parent itself did not run does not count', () => {
  const { clock, said, alive, sleep } = scene();
  alive();
  clock.pass(5_000);
  for (let sleeps = 0; sleeps < 5; sleeps++) {
    // All processes were suspended: the clock has moved, and no check has run.
    sleep(3_600_000);
    clock.pass(5_000);
    assert.deepEqual(said, []);
    alive();
  }
});

test('an older version that never says it is not watched, other messages pass, and nothing is left after the end', () => {
  const { clock, said, received, alive, says } = scene();
  says.received({ kind: 'serving', version: '1' });
  clock.pass(600_000);
  assert.deepEqual(said, []);
  alive();
  says.ended(0);
  clock.pass(600_000);
  assert.deepEqual([said, received], [[], ['serving', 'ended 0']]);
});

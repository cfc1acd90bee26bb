import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { DAY, HOUR } from '../../analytics/history/store.ts';
import { ApiError } from '../http/errors.ts';
import { historyEvents } from './history-events.ts';

/** A subscriber whose history answers when told. */
class Fixture {
  readonly clock = new ManualClock();
  readonly sent: string[] = [];
  readonly asked: { answer: (text: string) => void; fail: (error: Error) => void }[] = [];
  readonly stop: () => void;

  constructor(step: typeof HOUR | typeof DAY) {
    const text = () => new Promise<string>((answer, fail) => this.asked.push({ answer, fail }));
    this.stop = historyEvents(
      text,
      { from: 0, to: DAY, step, previous: { from: -DAY, to: 0 } },
      this.clock,
    )((event) => this.sent.push(event));
  }

  async answer(text: string): Promise<void> {
    this.asked.at(-1)?.answer(text);
    await nextTurn();
  }
}

test('the history is sent at once and then every 10 s by the hour, every minute by the day', async () => {
  for (const [step, ms] of [
    [HOUR, 10_000],
    [DAY, 60_000],
  ] as const) {
    const fixture = new Fixture(step);
    await fixture.answer('{"a":1}');
    fixture.clock.pass(ms - 1);
    assert.equal(fixture.asked.length, 1);
    fixture.clock.pass(1);
    await fixture.answer('{"a":2}');
    assert.deepEqual(fixture.sent, ['event: history\ndata: {"a":1}\n\n', 'event: history\ndata: {"a":2}\n\n']);
    fixture.stop();
  }
});

test('a slow answer is not asked for twice, and none is sent to a reader that has left', async () => {
  const fixture = new Fixture(HOUR);
  fixture.clock.pass(30_000);
  assert.equal(fixture.asked.length, 1);
  fixture.stop();
  await fixture.answer('{}');
  fixture.clock.pass(30_000);
  assert.deepEqual([fixture.sent, fixture.asked.length], [[], 1]);
});

test('a failure is sent in place of the history, which is asked for again', async () => {
  const fixture = new Fixture(HOUR);
  fixture.asked.at(-1)?.fail(new ApiError('analyticsNotFound'));
  await nextTurn();
  fixture.clock.pass(10_000);
  fixture.asked.at(-1)?.fail(new Error('broken'));
  await nextTurn();
  fixture.clock.pass(10_000);
  await fixture.answer('{}');
  assert.deepEqual(fixture.sent, [
    'event: history\ndata: {"status":404,"error":"no analytics for domain"}\n\n',
    'event: history\ndata: {"status":500,"error":"broken"}\n\n',
    'event: history\ndata: {}\n\n',
  ]);
  fixture.stop();
});

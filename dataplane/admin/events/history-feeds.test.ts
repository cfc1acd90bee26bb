import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import type { RangeQuery } from '../../analytics/history/range.ts';
import { DAY, HOUR } from '../../analytics/history/store.ts';
import { ApiError } from '../http/errors.ts';
import { HistoryFeeds } from './history-feeds.ts';

const rangeOf = (step: RangeQuery['step']): RangeQuery => ({ from: 0, to: DAY, step, previous: { from: -DAY, to: 0 } });

/** Feeds whose history answers on the test's command. */
class Fixture {
  readonly clock = new ManualClock();
  readonly asked: { answer: (text: string) => void; fail: (error: Error) => void }[] = [];
  readonly feeds = new HistoryFeeds({
    clock: this.clock,
    log: memoryLog(),
    text: () => new Promise<string>((answer, fail) => this.asked.push({ answer, fail })),
  });

  /** Follows the history of a host, until `stop` is called. */
  follow(step: RangeQuery['step'], host = 'a.test'): { sent: string[]; stop: () => void } {
    const sent: string[] = [];
    return { sent, stop: this.feeds.of(host, rangeOf(step))((event) => sent.push(event)) };
  }

  async answer(text: string): Promise<void> {
    this.asked.at(-1)?.answer(text);
    await nextTurn();
  }

  async fail(error: Error): Promise<void> {
    this.asked.at(-1)?.fail(error);
    await nextTurn();
  }
}

const event = (data: string): string => `event: history\ndata: ${data}\n\n`;

test('the history is sent at once and then every 10 s by the hour, every minute by the day', async () => {
  for (const [step, ms] of [
    [HOUR, 10_000],
    [DAY, 60_000],
  ] as const) {
    const fixture = new Fixture();
    const { sent, stop } = fixture.follow(step);
    await fixture.answer('{"a":1}');
    fixture.clock.pass(ms - 1);
    assert.equal(fixture.asked.length, 1);
    fixture.clock.pass(1);
    await fixture.answer('{"a":2}');
    assert.deepEqual(sent, [event('{"a":1}'), event('{"a":2}')]);
    stop();
  }
});

test('a slow answer is not requested twice, and none is sent to a reader that has left', async () => {
  const fixture = new Fixture();
  const { sent, stop } = fixture.follow(HOUR);
  fixture.clock.pass(30_000);
  assert.equal(fixture.asked.length, 1);
  stop();
  await fixture.answer('{}');
  fixture.clock.pass(30_000);
  assert.deepEqual([sent, fixture.asked.length], [[], 1]);
});

test('a failure is sent in place of the history, which is asked for again', async () => {
  const fixture = new Fixture();
  const { sent, stop } = fixture.follow(HOUR);
  await fixture.fail(new ApiError('analyticsNotFound'));
  fixture.clock.pass(10_000);
  await fixture.fail(new Error('broken'));
  fixture.clock.pass(10_000);
  await fixture.answer('{}');
  assert.deepEqual(sent, [
    event('{"status":404,"error":"no analytics for domain"}'),
    event('{"status":500,"error":"broken"}'),
    event('{}'),
  ]);
  stop();
});

test('a thousand readers of the same period cost one answer, a later one gets it at once, and nothing is left of them', async () => {
  const fixture = new Fixture();
  const readers = Array.from({ length: 1_000 }, () => fixture.follow(HOUR));
  await fixture.answer('{"a":1}');
  const late = fixture.follow(HOUR);
  const [other, longer] = [fixture.follow(HOUR, 'b.test'), fixture.follow(DAY)];
  assert.deepEqual([fixture.asked.length, fixture.feeds.size], [3, 3]);
  for (const { sent } of [...readers, late]) assert.deepEqual(sent, [event('{"a":1}')]);
  assert.deepEqual([other.sent, longer.sent], [[], []]);
  fixture.clock.pass(10_000);
  assert.equal(fixture.asked.length, 4);
  for (const { stop } of [...readers, late, other, longer]) stop();
  assert.equal(fixture.feeds.size, 0);
  fixture.clock.pass(60_000);
  assert.equal(fixture.asked.length, 4);
});

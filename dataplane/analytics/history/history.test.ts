import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { until } from '../../../shared/runtime/testing/until.ts';
import { domainReport } from '../../traffic/testing/samples/domain-report.ts';
import { History } from './history.ts';
import type { RangeQuery } from './range.ts';
import { HOUR } from './store.ts';

const DAY_MS = 86_400_000;
/** More than the time after which an idle thread is ended (ms). */
const IDLE_MS = 75_000;

function kept(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'history-'));
  const clock = new ManualClock();
  const retention = { hoursMs: DAY_MS, daysMs: 30 * DAY_MS, maxBytes: 10_000_000 };
  const history = new History({ path: join(folder, 'analytics.db'), retention }, { clock, log: memoryLog() });
  t.after(async () => {
    await history.close();
    rmSync(folder, { recursive: true });
  });
  const from = Math.floor(Date.now() / HOUR) * HOUR - HOUR;
  const range: RangeQuery = { from, to: from + 3 * HOUR, step: HOUR, previous: { from: from - 3 * HOUR, to: from } };
  /** Asks the thread for the views of a host. */
  const views = async (host: string): Promise<number> => {
    const answer = await history.answer(host, range, 'json');
    if (answer.kind === 'unknown') return 0;
    if (answer.kind !== 'history') assert.fail(JSON.stringify(answer));
    return (JSON.parse(answer.text) as { totals: { views: number } }).totals.views;
  };
  const ended = async (): Promise<void> => {
    while (history.running) await pause(10);
  };
  return { history, clock, views, ended };
}

test('the thread is started for the first counts, or a moment after the process', (t) => {
  const early = kept(t);
  assert.equal(early.history.running, false);
  early.history.add([domainReport('a.test')]);
  assert.equal(early.history.running, true);
  const late = kept(t);
  late.clock.pass(5_000);
  assert.equal(late.history.running, true);
});

test('an idle thread ends, and the next one answers with its counts', async (t) => {
  const { history, clock, views, ended } = kept(t);
  history.add([domainReport('a.test', { requests: 3 })]);
  const before = await views('a.test');
  clock.pass(IDLE_MS);
  await ended();
  assert.equal(history.failure, null);
  assert.equal(await views('a.test'), before);
  assert.equal(history.running, true);
});

test('counts and queries that arrive while the thread ends are kept for the next one', async (t) => {
  const { history, clock, views } = kept(t);
  history.add([domainReport('a.test', { requests: 1 })]);
  const one = await views('a.test');
  clock.pass(IDLE_MS);
  history.add([domainReport('a.test', { requests: 1 })]);
  assert.equal(await views('a.test'), 2 * one);
});

test('without counts the thread is started every hour, to delete what is too old', async (t) => {
  const { history, clock, views, ended } = kept(t);
  await views('a.test');
  clock.pass(IDLE_MS);
  await ended();
  clock.pass(HOUR);
  assert.equal(history.running, true);
});

test('questions that nobody waits for any more are not answered, so that a flood of them does not delay later ones or the counts', async (t) => {
  const { history, clock, views } = kept(t);
  history.add([domainReport('a.test', { requests: 1 })]);
  const one = await views('a.test');
  const post = t.mock.method(Worker.prototype, 'postMessage');
  const flood = Array.from({ length: 100 }, () => views('a.test').catch(() => null));
  clock.pass(10_000);
  await Promise.all(flood);
  history.add([domainReport('a.test', { requests: 1 })]);
  assert.equal(await views('a.test'), 2 * one);
  const asked = post.mock.calls.filter(({ arguments: [message] }) => (message as { kind: string }).kind === 'answer');
  assert.equal(asked.length, 2);
});

test('a deletion delays no question, and may take longer than one', async (t) => {
  const { history, clock, views } = kept(t);
  history.add([domainReport('a.test', { requests: 1 }), domainReport('b.test', { requests: 1 })]);
  const one = await views('b.test');
  const post = t.mock.method(Worker.prototype, 'postMessage');
  const deleted = history.forget('a.test');
  clock.pass(30_000);
  const asked = views('b.test');
  assert.deepEqual(
    post.mock.calls.map(({ arguments: [message] }) => (message as { kind: string }).kind),
    ['forget', 'answer'],
  );
  assert.equal((await deleted).kind, 'history');
  assert.equal(await asked, one);
  assert.equal(await views('a.test'), 0);
});

test('a thread that deletes for longer than anybody waits is not ended before it has done so', async (t) => {
  const { history, clock, views, ended } = kept(t);
  history.add([domainReport('a.test', { requests: 1 })]);
  await views('a.test');
  const { postMessage } = Worker.prototype;
  const posted: string[] = [];
  let begin = (): void => undefined;
  t.mock.method(Worker.prototype, 'postMessage', function (this: Worker, message: { readonly kind: string }) {
    posted.push(message.kind);
    if (message.kind === 'forget') begin = () => postMessage.call(this, message);
    else postMessage.call(this, message);
  });
  const deleted = history.forget('a.test');
  clock.pass(2 * IDLE_MS);
  assert.equal((await deleted).kind, 'unavailable');
  assert.deepEqual(posted, ['forget']);
  begin();
  await until('the thread to end', () => {
    clock.pass(IDLE_MS);
    return posted.includes('close');
  });
  await ended();
  assert.equal(await views('a.test'), 0);
});

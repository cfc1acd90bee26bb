import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { insideOneWorker, WorkersFixture } from './testing/test-workers.ts';

const SITE = { domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body: 'here' } };
/** Replaces all workers, one after another. */
async function replaceAll({ workers }: WorkersFixture): Promise<void> {
  const all = await workers.heaps();
  await Promise.all(all.map(({ worker }) => workers.replace(worker, 5_000)));
}
const count = (fixture: WorkersFixture, state: string): number => fixture.changes.filter((change) => change === state).length;

test('replacing all workers leaves the same number of workers, all of them new', async () => {
  await using fixture = await WorkersFixture.start(2, [SITE]);
  await replaceAll(fixture);
  assert.equal(fixture.workers.serving, 2);
  await until('the old workers to be gone', () => count(fixture, 'retired') === 2);
  assert.equal(count(fixture, 'started'), 4);
  assert.equal((await fixture.visit('a.test')).text, 'here');
  assert.equal(fixture.workers.restarts, 0, 'nothing went wrong');
});

test('a worker is replaced by its name, and replacing one that is gone does nothing', async () => {
  await using fixture = await WorkersFixture.start(2, [SITE]);
  const [heap] = await fixture.workers.heaps();
  assert.ok(heap !== undefined && heap.used > 1_000_000 && heap.limit > heap.used, JSON.stringify(heap));
  await fixture.workers.replace(heap.worker, 5_000);
  await until('it to end', () => count(fixture, 'retired') === 1);
  const now = (await fixture.workers.heaps()).map(({ worker }) => worker);
  assert.equal(now.length, 2);
  assert.ok(!now.includes(heap.worker));
  await fixture.workers.replace(heap.worker, 5_000);
  assert.equal(count(fixture, 'started'), 3);
});

test('concurrent replacements are made one after another', async () => {
  await using fixture = await WorkersFixture.start(2, [SITE]);
  for (let round = 0; round < 3; round++) await replaceAll(fixture);
  await until('all old workers to be gone', () => count(fixture, 'retired') === 6);
  assert.equal(fixture.workers.serving, 2);
  assert.equal((await fixture.visit('a.test')).text, 'here');
});

test('a worker that dies while its successor starts does not leave an extra worker', async () => {
  await using fixture = await WorkersFixture.start(2, [SITE]);
  const rolled = replaceAll(fixture);
  await insideOneWorker('process.exit(1)');
  await rolled;
  await until('the same number of workers', () => fixture.workers.serving === 2);
  await until('the remaining old ones to be gone', () => count(fixture, 'retired') + count(fixture, 'died') === 2);
  assert.equal(fixture.workers.serving, 2);
  assert.equal((await fixture.workers.heaps()).length, 2);
  // The next replacement is possible immediately.
  await replaceAll(fixture);
  assert.equal(fixture.workers.serving, 2);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, insideOneWorker, WorkersFixture } from './testing/test-workers.ts';

const SITE = { domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body: 'here' } };
/** Replaces each of them, one after the other. */
async function replaceAll({ workers }: WorkersFixture): Promise<void> {
  const all = await workers.heaps();
  await Promise.all(all.map(({ worker }) => workers.replace(worker, 5_000)));
}
const count = (fixture: WorkersFixture, state: string): number => fixture.changes.filter((change) => change === state).length;

test('a replacement of all workers leaves as many as there were, each of them new', async () => {
  await using fixture = await WorkersFixture.start(2, [SITE]);
  await replaceAll(fixture);
  assert.equal(fixture.workers.serving, 2);
  await eventually('the old ones to be gone', () => count(fixture, 'retired') === 2);
  assert.equal(count(fixture, 'started'), 4);
  assert.equal((await fixture.visit('a.test')).text, 'here');
  assert.equal(fixture.workers.restarts, 0, 'nothing went wrong');
});

test('one worker is replaced by its name, and one that is gone by nobody', async () => {
  await using fixture = await WorkersFixture.start(2, [SITE]);
  const [heap] = await fixture.workers.heaps();
  assert.ok(heap !== undefined && heap.used > 1_000_000 && heap.limit > heap.used, JSON.stringify(heap));
  await fixture.workers.replace(heap.worker, 5_000);
  await eventually('it to be gone', () => count(fixture, 'retired') === 1);
  const now = (await fixture.workers.heaps()).map(({ worker }) => worker);
  assert.equal(now.length, 2);
  assert.ok(!now.includes(heap.worker));
  await fixture.workers.replace(heap.worker, 5_000);
  assert.equal(count(fixture, 'started'), 3);
});

test('replacements that are asked for at once take place one after the other', async () => {
  await using fixture = await WorkersFixture.start(2, [SITE]);
  for (let round = 0; round < 3; round++) await replaceAll(fixture);
  await eventually('all old ones to be gone', () => count(fixture, 'retired') === 6);
  assert.equal(fixture.workers.serving, 2);
  assert.equal((await fixture.visit('a.test')).text, 'here');
});

test('a worker that dies while its successor starts leaves no worker too many', async () => {
  await using fixture = await WorkersFixture.start(2, [SITE]);
  const rolled = replaceAll(fixture);
  await insideOneWorker('process.exit(1)');
  await rolled;
  await eventually('as many as there were', () => fixture.workers.serving === 2);
  await eventually('those that are left to be gone', () => count(fixture, 'retired') + count(fixture, 'died') === 2);
  assert.equal(fixture.workers.serving, 2);
  assert.equal((await fixture.workers.heaps()).length, 2);
  // There is room for the next replacement at once.
  await replaceAll(fixture);
  assert.equal(fixture.workers.serving, 2);
});

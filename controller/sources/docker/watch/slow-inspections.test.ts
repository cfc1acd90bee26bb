import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerSummary } from '../engine/container-summary.ts';
import { ANSWER_MS } from '../engine/engine.ts';
import { EngineFailure } from '../engine/engine-failure.ts';
import { fakeId, inspectionOf } from '../testing/fake-container.ts';
import { ContainerStore } from './container-store.ts';

const labels = { 'sluice.domain': 'a.example' };
const listed = (number: number): ContainerSummary => ({
  ...{ id: fakeId(number), name: `app-${number}`, labels },
  ...{ state: 'running', note: '', networks: [] },
});

test('a container is found in the end although its engine takes longer to inspect it than a damaged one is waited for', async () => {
  const limits: number[] = [];
  /** How long the engine takes for the second container (ms). */
  let needed = 0;
  const inspect = async (id: string, withinMs = ANSWER_MS) => {
    if (id === fakeId(2)) {
      limits.push(withinMs);
      if (withinMs < needed) throw new EngineFailure('no response', true);
    }
    return inspectionOf({ id, name: 'app', labels });
  };
  const session = { inspect };
  const store = new ContainerStore();
  store.replace([listed(1)]);
  await store.inspectDirty(session);
  needed = ANSWER_MS + 1;
  const list = [listed(1), listed(2)];
  const round = async () => {
    store.markDirty(fakeId(1));
    store.replace(list);
    await store.inspectDirty(session);
  };
  await round();
  assert.deepEqual([store.size, store.unreadableOnes().length], [1, 1]);
  needed = ANSWER_MS / 2;
  for (let rounds = 0; rounds < 10 && store.size < 2; rounds++) await round();
  assert.deepEqual([store.size, store.unreadableOnes()], [2, []]);
  assert.ok(limits.filter((limit) => limit < ANSWER_MS).length > 1, 'most of the time, others do not wait long for it');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Slots } from './hash-table.ts';

const CAPACITY = 64;
const fresh = (): Slots => new Slots(new Int32Array(new SharedArrayBuffer(CAPACITY * 4)));
const claim = (slots: Slots, place: number, tag: number, idleFor: (slot: number) => number = () => 0): number =>
  slots.claim(place, tag, idleFor, () => undefined);

test('a key keeps its slot, and keys of one bucket have different ones', () => {
  const slots = fresh();
  const places = [1, 2, 3, 4].map((tag) => claim(slots, 5, tag));
  assert.equal(new Set(places).size, 4);
  assert.deepEqual(
    [1, 2, 3, 4].map((tag) => claim(slots, 5, tag)),
    places,
  );
  assert.deepEqual(
    [1, 2, 3, 4].map((tag) => slots.find(5, tag)),
    places,
  );
  assert.equal(slots.find(5, 9), -1);
});

test('a key keeps its slot when one before it is freed', () => {
  const slots = fresh();
  const [early, late] = [claim(slots, 3, 1), claim(slots, 3, 2)];
  slots.free(early);
  assert.equal(claim(slots, 3, 2), late);
  assert.equal(claim(slots, 3, 7), early, 'and the freed one is there for others');
});

test('in a full bucket the one that is idle for longest makes way and is cleared; other buckets stay', () => {
  const slots = fresh();
  const places = Array.from({ length: 8 }, (_, index) => claim(slots, 1, index + 1));
  const other = claim(slots, 2, 1);
  const stalest = places[3] as number;
  const cleared: number[] = [];
  const slot = slots.claim(
    1,
    99,
    (candidate) => (candidate === stalest ? 60 : 1),
    (gone) => cleared.push(gone),
  );
  assert.equal(slot, stalest);
  assert.deepEqual(cleared, [stalest]);
  assert.equal(slots.find(1, 4), -1);
  assert.equal(slots.find(2, 1), other);
});

test('threads that meet the same new keys at once agree on one slot a key', async () => {
  const KEYS = 4_000;
  const buffer = new SharedArrayBuffer(65_536 * 4);
  const start = new SharedArrayBuffer(4);
  const code = `
    const { workerData, parentPort } = require('node:worker_threads');
    import(workerData.module).then(({ Slots }) => {
      const slots = new Slots(new Int32Array(workerData.buffer));
      const gate = new Int32Array(workerData.start);
      Atomics.add(gate, 0, 1);
      while (Atomics.load(gate, 0) < 3);
      const found = [];
      for (let key = 0; key < ${KEYS}; key++) found.push(slots.claim(key % 1_000, key + 1, () => 0, () => undefined));
      parentPort.postMessage(found);
    });`;
  const workerData = { buffer, start, module: new URL('./hash-table.ts', import.meta.url).href };
  const found = await Promise.all(
    Array.from(
      { length: 3 },
      () =>
        new Promise<number[]>((resolve, reject) =>
          new Worker(code, { eval: true, workerData }).once('message', resolve).once('error', reject),
        ),
    ),
  );
  assert.deepEqual(found[1], found[0]);
  assert.deepEqual(found[2], found[0]);
  assert.equal(new Set(found[0]).size, KEYS);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { SharedHashTable } from './hash-table.ts';

const CAPACITY = 64;
const fresh = (): SharedHashTable => new SharedHashTable(new Int32Array(new SharedArrayBuffer(CAPACITY * 4)));
const insert = (table: SharedHashTable, hash: number, fingerprint: number, idleFor: (slot: number) => number = () => 0): number =>
  table.findOrInsert(hash, fingerprint, idleFor, () => undefined);

test('a key keeps its slot, and keys in one bucket have different slots', () => {
  const table = fresh();
  const slots = [1, 2, 3, 4].map((fingerprint) => insert(table, 5, fingerprint));
  assert.equal(new Set(slots).size, 4);
  assert.deepEqual(
    [1, 2, 3, 4].map((fingerprint) => insert(table, 5, fingerprint)),
    slots,
  );
  assert.deepEqual(
    [1, 2, 3, 4].map((fingerprint) => table.find(5, fingerprint)),
    slots,
  );
  assert.equal(table.find(5, 9), -1);
});

test('a key keeps its slot when an earlier slot is freed', () => {
  const table = fresh();
  const [early, late] = [insert(table, 3, 1), insert(table, 3, 2)];
  table.free(early);
  assert.equal(insert(table, 3, 2), late);
  assert.equal(insert(table, 3, 7), early, 'the freed slot is available to others');
});

test('in a full bucket the slot that has been idle longest is cleared and replaced, and other buckets are unaffected', () => {
  const table = fresh();
  const slots = Array.from({ length: 8 }, (_, index) => insert(table, 1, index + 1));
  const other = insert(table, 2, 1);
  const stalest = slots[3] as number;
  const cleared: number[] = [];
  const slot = table.findOrInsert(
    1,
    99,
    (candidate) => (candidate === stalest ? 60 : 1),
    (gone) => cleared.push(gone),
  );
  assert.equal(slot, stalest);
  assert.deepEqual(cleared, [stalest]);
  assert.equal(table.find(1, 4), -1);
  assert.equal(table.find(2, 1), other);
});

test('threads that insert the same new keys at once agree on one slot per key', async () => {
  const KEYS = 4_000;
  const buffer = new SharedArrayBuffer(65_536 * 4);
  const start = new SharedArrayBuffer(4);
  const code = `
    const { workerData, parentPort } = require('node:worker_threads');
    import(workerData.module).then(({ SharedHashTable }) => {
      const table = new SharedHashTable(new Int32Array(workerData.buffer));
      const started = new Int32Array(workerData.start);
      Atomics.add(started, 0, 1);
      while (Atomics.load(started, 0) < 3);
      const found = [];
      for (let key = 0; key < ${KEYS}; key++) found.push(table.findOrInsert(key % 1_000, key + 1, () => 0, () => undefined));
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { LineRing, LineRings } from './line-ring.ts';

const read = (ring: LineRing): [number, string][] => {
  const lines: [number, string][] = [];
  ring.read((number, bytes, from, to) => lines.push([number, bytes.toString('latin1', from, to)]));
  return lines;
};

test('lines are read in their order, each once, with their number', () => {
  const ring = new LineRing(LineRing.buffer(1), 0);
  assert.deepEqual(read(ring), []);
  ring.push(7, 'one\n');
  ring.push(~7, '');
  ring.push(0, 'ÿ'.repeat(5));
  assert.deepEqual(read(ring), [
    [7, 'one\n'],
    [~7, ''],
    [0, 'ÿ'.repeat(5)],
  ]);
  assert.deepEqual(read(ring), []);
});

test('lines of every length survive the end of the buffer, many times', () => {
  const ring = new LineRing(LineRing.buffer(1), 0);
  for (let round = 0; round < 4_000; round++) {
    const lines = Array.from({ length: 3 }, (_, nth) => String.fromCharCode(97 + ((round + nth) % 26)).repeat((round * 7 + nth) % 3_000));
    for (const [number, line] of lines.entries()) assert.ok(ring.push(number, line));
    assert.deepEqual(read(ring), [...lines.entries()]);
  }
});

test('a line that does not fit is dropped and counted, and those before it stay', () => {
  const buffer = LineRing.buffer(2);
  const ring = new LineRing(buffer, 1);
  const line = 'x'.repeat(1_000);
  let taken = 0;
  while (ring.push(1, line)) taken++;
  assert.ok(taken > 900 && taken < 1_100, `${taken}`);
  assert.equal(ring.push(1, 'y'.repeat(2 << 20)), false);
  assert.deepEqual([ring.dropped, new LineRings(buffer).lost()], [2, 2]);
  assert.equal(read(ring).length, taken);
  assert.ok(ring.push(1, line));
});

test('a reader in another thread gets every line of a writer that is faster than the ring is large', async () => {
  const buffer = LineRing.buffer(1);
  const source = `import(${JSON.stringify(new URL('./line-ring.ts', import.meta.url).href)}).then(({ LineRing }) => {
    const { workerData, parentPort } = require('node:worker_threads');
    const ring = new LineRing(workerData, 0);
    for (let nth = 0; nth < 20000; ) if (ring.push(nth, 'line ' + nth + ' ' + 'x'.repeat(nth % 500))) nth++;
    parentPort.postMessage('done');
  })`;
  const worker = new Worker(source, { eval: true, workerData: buffer });
  const rings = new LineRings(buffer);
  let next = 0;
  while (next < 20_000) {
    for (const [number, line] of read(rings.rings[0] as LineRing)) {
      assert.equal(number, next);
      assert.equal(line, `line ${next} ${'x'.repeat(next % 500)}`);
      next++;
    }
    await rings.wait(10, rings.bell);
  }
  await worker.terminate();
});

test('a ring that became half full before the reader waits wakes it at once', async () => {
  const buffer = LineRing.buffer(1);
  const ring = new LineRing(buffer, 0);
  const rings = new LineRings(buffer);
  const { bell } = rings;
  while (rings.bell === bell) ring.push(0, 'x'.repeat(1_000));
  await rings.wait(3_600_000, bell);
  const waits = rings.wait(3_600_000, rings.bell);
  read(ring);
  const before = rings.bell;
  while (rings.bell === before) ring.push(0, 'x'.repeat(1_000));
  await waits;
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { keyOf } from './hash.ts';
import { Rates } from './rates.ts';

const SECOND = 1_000;
const START = 1_700_000_000_000;

const fresh = (): Rates => new Rates(Rates.buffer(), SECOND);
const key = keyOf('a client');
const admitted = (rates: Rates, times: number, limit: number, now: number): number => {
  let count = 0;
  for (let time = 0; time < times; time++) if (rates.admit(key.hash, key.fingerprint, limit, now)) count++;
  return count;
};

test('a burst is admitted up to the limit', () => {
  const rates = fresh();
  assert.equal(admitted(rates, 50, 10, START), 10);
  assert.equal(admitted(rates, 50, 10, START + 900), 0);
});

test('requests count for a window, those of its last eighth by the fraction of that which the window still overlaps', () => {
  const rates = fresh();
  assert.equal(admitted(rates, 10, 10, START), 10);
  assert.equal(admitted(rates, 10, 10, START + SECOND - 1), 0);
  // A fifth into the next eighth, less than four fifths of the ten still count.
  assert.equal(admitted(rates, 10, 10, START + SECOND + 25), 3);
  assert.equal(admitted(rates, 10, 10, START + SECOND + 125), 7);
  assert.equal(admitted(rates, 10, 10, START + 3 * SECOND), 10);
});

test('a client that makes as many requests as its limit allows, evenly, is never rejected', () => {
  for (const limit of [1, 2, 3, 5, 10, 50])
    for (let phase = 0; phase < SECOND; phase += 37) {
      const rates = fresh();
      const times = Array.from({ length: 6 * limit }, (_, nth) => START + phase + (nth * SECOND) / limit);
      const rejected = times.filter((time) => admitted(rates, 1, limit, time) === 0);
      assert.deepEqual(rejected, [], `limit ${limit}, phase ${phase}`);
    }
});

test('a client that was rejected after a burst is admitted a second later', () => {
  for (const limit of [1, 2, 3, 5, 10, 50])
    for (let phase = 0; phase < SECOND; phase += 37) {
      const rates = fresh();
      assert.equal(admitted(rates, limit + 3, limit, START + phase), limit);
      assert.equal(admitted(rates, 1, limit, START + phase + 850), 0);
      assert.equal(admitted(rates, 1, limit, START + phase + SECOND), 1, `limit ${limit}, phase ${phase}`);
    }
});

test('noted is for a window and part of another', () => {
  const rates = fresh();
  rates.note(key.hash, key.fingerprint, START + 60);
  rates.note(key.hash, key.fingerprint, START + 70);
  assert.equal(rates.noted(key.hash, key.fingerprint, START + 60 + SECOND), true);
  assert.equal(rates.noted(key.hash, key.fingerprint, START + 125 + SECOND), false);
  const other = keyOf('another client');
  assert.equal(rates.noted(other.hash, other.fingerprint, START), false);
});

test('a limit of one admits one request', () => {
  const rates = fresh();
  assert.equal(admitted(rates, 5, 1, START), 1);
  assert.equal(admitted(rates, 5, 1, START + 2 * SECOND), 1);
});

test('an hour’s window is estimated like a second’s, and its keys outlast a sweep', () => {
  const HOUR = 3_600 * SECOND;
  const rates = new Rates(Rates.buffer(), HOUR);
  const start = Math.floor(START / HOUR) * HOUR;
  assert.equal(admitted(rates, 10, 8, start), 8);
  rates.sweep(start + 50 * 60 * SECOND);
  assert.equal(admitted(rates, 10, 8, start + 59 * 60 * SECOND), 0);
  assert.equal(admitted(rates, 10, 8, start + HOUR * 1.0625), 5);
  rates.sweep(start + 4 * HOUR);
  assert.equal(rates.waitMs(key.hash, key.fingerprint, 8, start + 4 * HOUR), 0);
});

test('a rejected key learns when it is admitted again: not a moment earlier, nor much later', () => {
  for (const [limit, first, later, at] of [
    [1, 1, 0, 0.2],
    [1, 1, 0, 0.9],
    [4, 4, 4, 1.3],
    [10, 10, 10, 1.05],
    [10, 7, 10, 1.5],
  ] as const) {
    const rates = fresh();
    admitted(rates, first, limit, START);
    admitted(rates, later, limit, START + at * SECOND);
    const now = START + at * SECOND;
    const wait = rates.waitMs(key.hash, key.fingerprint, limit, now);
    assert.ok(wait > 0, `limit ${limit} at ${at}`);
    assert.equal(rates.wouldAdmit(key.hash, key.fingerprint, limit, now + wait - 2), false, `limit ${limit} at ${at}: before ${wait} ms`);
    assert.equal(rates.wouldAdmit(key.hash, key.fingerprint, limit, now + wait + 2), true, `limit ${limit} at ${at}: after ${wait} ms`);
  }
});

test('clients are counted separately, and a query does not count', () => {
  const rates = fresh();
  const other = keyOf('another client');
  assert.equal(admitted(rates, 10, 5, START), 5);
  for (let time = 0; time < 20; time++) assert.equal(rates.wouldAdmit(other.hash, other.fingerprint, 5, START), true);
  assert.equal(rates.wouldAdmit(key.hash, key.fingerprint, 5, START), false);
  assert.equal(rates.admit(other.hash, other.fingerprint, 5, START), true);
});

test('a sweep forgets idle clients and keeps busy ones', () => {
  const rates = fresh();
  admitted(rates, 10, 10, START);
  rates.sweep(START + SECOND);
  assert.equal(admitted(rates, 10, 10, START + 500), 0);
  rates.sweep(START + 120 * SECOND);
  assert.equal(admitted(rates, 20, 10, START + 120 * SECOND), 10);
});

test('with more clients than slots, the least recent are forgotten and limits still hold', () => {
  const rates = fresh();
  for (let client = 0; client < 200_000; client++) {
    const { hash, fingerprint } = keyOf(`client ${client}`);
    assert.equal(rates.admit(hash, fingerprint, 1, START + Math.floor(client / 50)), true);
  }
  const last = keyOf('client 199999');
  assert.equal(rates.admit(last.hash, last.fingerprint, 1, START + 4_000), false);
});

test('several threads together admit exactly the limit of each window', async () => {
  const buffer = Rates.buffer();
  const code = `
    const { workerData, parentPort } = require('node:worker_threads');
    import(workerData.module).then(({ Rates }) => {
      const rates = new Rates(workerData.buffer, 1_000);
      let admitted = 0;
      for (let client = 0; client < 40; client++)
        for (let time = 0; time < 500; time++)
          if (rates.admit(client * 8191, client + 1, 100, ${START})) admitted++;
      parentPort.postMessage(admitted);
    });`;
  const workerData = { buffer, module: new URL('./rates.ts', import.meta.url).href };
  const counts = await Promise.all(
    Array.from(
      { length: 4 },
      () =>
        new Promise<number>((resolve, reject) =>
          new Worker(code, { eval: true, workerData }).once('message', resolve).once('error', reject),
        ),
    ),
  );
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    40 * 100,
  );
});

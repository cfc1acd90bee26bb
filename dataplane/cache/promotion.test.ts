import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CacheEntry, CacheToWorker } from '../traffic/cache-messages.ts';
import { CacheIndex, type CacheIndexTools } from './cache-index.ts';
import { entry } from './testing/entry.ts';

type Disk = NonNullable<CacheIndexTools['disk']>;

/** A cache whose disk is simulated by the test. */
function cacheOf() {
  const sent: (readonly [worker: number, message: CacheToWorker])[] = [];
  const reads = new Map<string, (entries: readonly CacheEntry[]) => void>();
  const calls: unknown[][] = [];
  const onDisk = new Set<string>();
  const disk: Disk = {
    read(key, _, then) {
      if (onDisk.has(key)) reads.set(key, then);
      return onDisk.has(key);
    },
    offer: (one, replaces) => void calls.push(['offer', one.id, replaces]),
    used: (counts) => void calls.push(['used', counts]),
    resize: (size) => void calls.push(['resize', size]),
    purge: async (purge, counted, urgent) => {
      calls.push(['purge', purge.kind, counted, urgent]);
      return { count: 2, saved: false };
    },
  };
  const index = new CacheIndex(1_000_000, {
    ...{ reply: (worker, message) => sent.push([worker, message]), broadcast: (message) => sent.push([0, message]) },
    disk,
  });
  const found = () =>
    sent.flatMap(([worker, message]) => (message.kind === 'found' ? [[worker, ...message.entries.map(({ id }) => id)]] : []));
  const lookUp = (worker: number, key: string) => index.handle(worker, { kind: 'look-up', key });
  const store = (one: CacheEntry, replaces: number | null = null) =>
    index.handle(1, { kind: 'store', entry: one, since: index.purged, replaces });
  return { index, reads, calls, onDisk, found, lookUp, store };
}

test('a response on disk is read once for all workers that look for it, and then found in memory', () => {
  const { index, reads, calls, onDisk, found, lookUp } = cacheOf();
  const one = entry('/a');
  onDisk.add(one.key);
  for (const worker of [1, 2]) lookUp(worker, one.key);
  assert.deepEqual([found(), reads.size], [[], 1]);
  reads.get(one.key)?.([one]);
  assert.deepEqual(found(), [
    [1, one.id],
    [2, one.id],
  ]);
  lookUp(3, one.key);
  assert.deepEqual([found().at(-1), index.status.entries], [[3, one.id], 1]);
  assert.deepEqual(calls, [], 'it is not written again');
});

test('a response that is purged or replaced while it is read is not used', async () => {
  const { index, reads, onDisk, found, lookUp, store } = cacheOf();
  const [one, other, newer] = [entry('/a'), entry('/b'), entry('/b')];
  for (const { key } of [one, other]) {
    onDisk.add(key);
    lookUp(1, key);
  }
  const purging = index.purgeEverywhere({ kind: 'target', host: 'a.test', target: '/a' }, true);
  store(newer);
  reads.get(one.key)?.([one]);
  reads.get(other.key)?.([other]);
  assert.deepEqual(found(), [[1], [1, newer.id]]);
  assert.deepEqual(await purging, { count: 2, saved: false });
});

test('stores, uses and purges are passed on to the disk', async () => {
  const { index, calls, store } = cacheOf();
  const [one, two] = [entry('/a'), entry('/a')];
  store(one);
  store(two, one.id);
  index.handle(1, { kind: 'used', counts: [[two.id, 3]] });
  index.handle(1, { kind: 'invalidate', host: 'a.test', targets: ['/a'] });
  index.resize(0);
  assert.deepEqual(calls, [
    ['offer', one.id, null],
    ['offer', two.id, one.id],
    ['used', [[two.id, 3]]],
    ['purge', 'target', [two.id], false],
    ['resize', 0],
  ]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Sized, TinyLfu } from './tiny-lfu.ts';

const SIZE = 4_000_000;

/** A reproducible source of numbers from 0 to 1 (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Requests as to a web site: few pages are popular (Zipf, 0.9), sizes are log-normal, and a tenth are URLs that come once. */
function trace(requests: number, pages: number): Sized[] {
  const random = numbers(1);
  const weights = Array.from({ length: pages }, (_, rank) => 1 / (rank + 1) ** 0.9);
  const sums: number[] = [];
  let sum = 0;
  for (const weight of weights) {
    sum += weight;
    sums.push(sum);
  }
  const sizes = weights.map(() => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.min(400_000, Math.round(Math.exp(9 + 1.5 * normal)));
  });
  return Array.from({ length: requests }, (_, at) => {
    if (random() < 0.1) return { name: `once-${at}`, cost: 10_000 };
    const wanted = random() * sum;
    let low = 0;
    for (let high = pages - 1; low < high; ) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as number) < wanted) low = middle + 1;
      else high = middle;
    }
    return { name: `page-${low}`, cost: sizes[low] as number };
  });
}

type Ratio = { readonly requests: number; readonly bytes: number };

function ratioOf(requests: readonly Sized[], use: (entry: Sized) => boolean): Ratio {
  let [hits, hitBytes, bytes] = [0, 0, 0];
  for (const entry of requests) {
    bytes += entry.cost;
    if (!use(entry)) continue;
    hits++;
    hitBytes += entry.cost;
  }
  return { requests: hits / requests.length, bytes: hitBytes / bytes };
}

function leastRecentlyUsed(size: number): (entry: Sized) => boolean {
  const entries = new Map<string, Sized>();
  let used = 0;
  return (entry) => {
    const known = entries.delete(entry.name);
    if (!known) used += entry.cost;
    entries.set(entry.name, entry);
    for (const [name, oldest] of entries) {
      if (used <= size) break;
      entries.delete(name);
      used -= oldest.cost;
    }
    return known;
  };
}

function tinyLfu(size: number): (entry: Sized) => boolean {
  const policy = new TinyLfu<Sized>(size);
  const entries = new Map<string, Sized>();
  return (entry) => {
    const known = entries.get(entry.name);
    if (known !== undefined) {
      policy.touch(known, 1);
      return true;
    }
    entries.set(entry.name, entry);
    for (const gone of policy.add(entry)) entries.delete(gone.name);
    assert.ok(policy.used <= size);
    return false;
  };
}

test('more requests are hits than with the least recently used leaving, and the size is never exceeded', (t) => {
  const requests = trace(200_000, 20_000);
  const [lfu, lru] = [ratioOf(requests, tinyLfu(SIZE)), ratioOf(requests, leastRecentlyUsed(SIZE))];
  const shown = ({ requests, bytes }: Ratio): string =>
    `${(100 * requests).toFixed(1)} % of requests, ${(100 * bytes).toFixed(1)} % of bytes`;
  t.diagnostic(`W-TinyLFU ${shown(lfu)}; LRU ${shown(lru)}`);
  assert.ok(lfu.requests > 1.2 * lru.requests);
});

test('an entry larger than the cache does not enter it, and one that is removed is gone', () => {
  const policy = new TinyLfu<Sized>(1_000_000);
  const [large, small] = [
    { name: 'large', cost: 2_000_000 },
    { name: 'small', cost: 1_000 },
  ];
  assert.deepEqual(policy.add(large), [large]);
  assert.deepEqual(policy.add(small), []);
  policy.remove(small);
  assert.deepEqual([policy.count, policy.used, policy.has(small)], [0, 0, false]);
});

test('shedding removes the entries that matter least, within the cost that is given', () => {
  const policy = new TinyLfu<Sized>(1_000);
  const entries = Array.from({ length: 8 }, (_, at) => ({ name: `${at}`, cost: 100 }));
  for (const one of entries) policy.add(one);
  const often = entries[0] as Sized;
  policy.touch(often, 5);
  const gone = policy.shed(250);
  assert.deepEqual([gone.length, policy.count, policy.used, gone.includes(often)], [2, 6, 600, false]);
});

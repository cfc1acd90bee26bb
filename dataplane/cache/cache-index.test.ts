import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CacheEntry, CacheToWorker } from '../traffic/cache-messages.ts';
import { CacheIndex } from './cache-index.ts';
import { entry } from './testing/entry.ts';

function indexOf(size: number) {
  const sent: CacheToWorker[] = [];
  const index = new CacheIndex(size, { reply: (_, message) => sent.push(message), broadcast: (message) => sent.push(message) });
  const store = (one: CacheEntry, since = index.purged, replaces: number | null = null) =>
    index.handle(1, { kind: 'store', entry: one, since, replaces });
  const found = (key: string): readonly number[] => {
    index.handle(1, { kind: 'look-up', key });
    const message = sent.at(-1);
    return message?.kind === 'found' ? message.entries.map(({ id }) => id) : [];
  };
  return { index, sent, store, found };
}

test('a stored response is found by its key, and a newer one replaces the same variant', () => {
  const { index, store, found } = indexOf(1_000_000);
  const [one, two, other] = [entry('/a'), entry('/a'), entry('/a', { vary: ['accept'], variant: '=x' })];
  for (const stored of [one, two, other]) store(stored);
  assert.deepEqual(found(one.key), [other.id, two.id]);
  assert.equal(index.status.entries, 2);
});

test('a purge removes all variants and spellings of one URL, a prefix or a tag', () => {
  const { index, store } = indexOf(1_000_000);
  for (const one of [
    entry('/a%20b?x=1'),
    entry('/a b?x=1'.replace(' ', '%20'), { key: 'https a.test /a%20b?x=1' }),
    entry('/a%20b?x=2'),
    entry('/docs/x', { tags: ['t'] }),
    entry('/docs/y'),
    entry('/z', { tags: ['t', 'u'] }),
  ])
    store(one);
  assert.equal(index.purge({ kind: 'target', host: 'b.test', target: '/z' }), 0);
  assert.equal(index.purge({ kind: 'target', host: 'a.test', target: '/a%20b?x=1' }), 2);
  assert.equal(index.purge({ kind: 'prefix', host: 'a.test', prefix: '/docs/' }), 2);
  assert.equal(index.purge({ kind: 'tag', tag: 't' }), 1);
  assert.equal(index.status.entries, 1);
});

test('everything that a client can make long counts for the size of the cache: the target, the fields, and the values that a response varies by', () => {
  for (const long of [{ key: 'x'.repeat(10_000) }, { fields: 'x'.repeat(10_000) }, { vary: ['user-agent'], variant: 'x'.repeat(10_000) }]) {
    const { index, store } = indexOf(1_000_000);
    for (let nth = 0; nth < 200; nth++)
      store(entry(`/${nth}`, { key: `http a.test /${nth}`, ...('key' in long ? { key: long.key + nth } : long) }));
    assert.ok(index.status.entries < 50 && index.status.used > 900_000, `${index.status.entries} entries`);
  }
});

test('the tags of a response count for the size of the cache with the memory that they take, however short they are', () => {
  const { index, store } = indexOf(1_000_000);
  for (let nth = 0; nth < 200; nth++) store(entry(`/${nth}`, { tags: Array.from({ length: 100 }, (_, tag) => `${nth} ${tag}`) }));
  assert.ok(index.status.entries < 50 && index.status.used > 900_000, `${index.status.entries} entries`);
});

test('tags that responses share count with the memory that they take, also once the first of those responses is gone', () => {
  const tags = Array.from({ length: 100 }, (_, tag) => `${tag}`);
  const { index, store } = indexOf(1_000_000);
  for (let nth = 10; nth < 90; nth++) store(entry(`/${nth}`, { tags }));
  assert.equal(index.status.entries, 80);
  const usedBy = (count: number): number => {
    const fresh = indexOf(1_000_000);
    for (let nth = 0; nth < count; nth++) fresh.store(entry(`/${nth + 10}`, { tags }));
    return fresh.index.status.used;
  };
  for (let nth = 10; nth < 88; nth++) index.purge({ kind: 'target', host: 'a.test', target: `/${nth}` });
  const [, share] = [...index.status.routes][0] ?? [];
  assert.deepEqual([index.status.used, share?.bytes], [usedBy(2), usedBy(2)]);
  index.purge({ kind: 'prefix', host: 'a.test', prefix: '/' });
  assert.deepEqual([index.status.used, share?.bytes], [0, 0]);
});

test('a response that was requested before its purge is not stored', () => {
  const { index, store, found } = indexOf(1_000_000);
  const since = index.purged;
  index.purge({ kind: 'target', host: 'a.test', target: '/a' });
  const [purged, other] = [entry('/a'), entry('/b')];
  store(purged, since);
  store(other, since);
  assert.deepEqual([found(purged.key), found(other.key)], [[], [other.id]]);
  for (let round = 0; round < 2_000; round++) index.purge({ kind: 'tag', tag: 'none' });
  const old = entry('/c');
  store(old, since);
  assert.deepEqual(found(old.key), [], 'not even if the purge is forgotten');
});

test('a response is stored although many other URLs were purged after it was requested', () => {
  const { index, store, found } = indexOf(1_000_000);
  const since = index.purged;
  for (let round = 0; round < 3_000; round++) index.handle(1, { kind: 'invalidate', host: 'b.test', targets: [`/x?${round}`] });
  const one = entry('/');
  store(one, since);
  assert.deepEqual(found(one.key), [one.id]);
});

test('the answer to a look-up says which purge was the newest, since a new worker knows of none', () => {
  const { index, sent, store, found } = indexOf(1_000_000);
  index.purge({ kind: 'target', host: 'a.test', target: '/' });
  assert.deepEqual(found(entry('/').key), []);
  const answer = sent.at(-1);
  assert.ok(answer?.kind === 'found' && answer.purged === index.purged);
  const one = entry('/');
  store(one, answer.purged);
  assert.deepEqual(found(one.key), [one.id]);
});

test('memory stays within the size, and responses that are used often stay', () => {
  const { index, store, found } = indexOf(500_000);
  const [often] = [entry('/often')];
  store(often);
  for (let at = 0; at < 5_000; at++) {
    store(entry(`/${at}`));
    if (at % 10 === 0) index.handle(1, { kind: 'used', counts: [[often.id, 5]] });
    assert.ok(index.status.used <= 500_000);
  }
  assert.deepEqual(found(often.key), [often.id]);
  index.resize(0);
  assert.deepEqual([index.status.entries, index.status.used], [0, 0]);
});

test('bytes, entries and evictions are counted for each route, for at most 1,000 routes and then as other', () => {
  const { index, store } = indexOf(100_000_000);
  const shares = () => new Map([...index.status.routes].map(([domain, share]) => [domain, { ...share }]));
  const one = entry('/1', { domain: '*.test', tags: ['t'] });
  store(one);
  store(entry('/2', { domain: '*.test' }));
  store(entry('/3', { domain: 'b.test' }));
  assert.equal(shares().get('*.test')?.entries, 2);
  const sum = () => [...shares().values()].reduce((bytes, share) => bytes + share.bytes, 0);
  assert.equal(sum(), index.status.used);
  store(entry('/1', { domain: '*.test' }), index.purged, one.id);
  assert.equal(sum(), index.status.used);
  index.purge({ kind: 'target', host: 'a.test', target: '/2' });
  assert.deepEqual([shares().get('*.test')?.entries, shares().get('*.test')?.evicted], [1, 0]);
  for (let at = 0; at < 1_100; at++) store(entry(`/many/${at}`, { domain: `d${at}.test` }));
  assert.deepEqual([shares().size, shares().get('other')?.entries], [1_001, 102]);
  index.resize(0);
  const { bytes, entries, evicted } = shares().get('*.test') ?? {};
  assert.deepEqual([sum(), bytes, entries, evicted], [0, 0, 0, 1]);
});

test('a purge of a URL also removes entries that were stored without the parameters that are not in the key', () => {
  const { index, store } = indexOf(1_000_000);
  const ignoring = JSON.stringify({ ignore_query: ['utm_*'] });
  const [one, two] = [entry('/a?b', { queryRule: ignoring }), entry('/a', { queryRule: JSON.stringify({ query: ['page'] }) })];
  for (const stored of [one, two, entry('/a?utm_x', { host: 'b.test' })]) store(stored);
  const purge = (target: string, host = 'a.test') => index.purge({ kind: 'target', host, target });
  assert.equal(purge('/a?c&utm_x'), 1, 'only the page without parameters');
  assert.equal(purge('/a?b&utm_x'), 1);
  assert.equal(purge('/a?utm_y', 'b.test'), 0, 'there all parameters decide');
  const since = index.purged;
  purge('/late?b&utm_z');
  store(entry('/late?b', { queryRule: ignoring }), since);
  assert.equal(index.status.entries, 1, 'a response that was requested before is not stored');
  store(entry('/a?b', { queryRule: ignoring }), since);
  assert.equal(index.status.entries, 2);
});

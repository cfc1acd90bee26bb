import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import type { Purge } from '../../../shared/wire/purge.ts';
import { entry } from '../testing/entry.ts';
import { type DiskThread, DiskTier } from './disk-tier.ts';
import { digestOf } from './entry-shape.ts';
import { KeyFilter } from './key-filter.ts';
import type { DiskStart, FromDisk, ToDisk } from './messages.ts';

/** The thread of the files, simulated by the test. */
class Thread extends EventEmitter implements DiskThread {
  readonly start: DiskStart;
  readonly got: ToDisk[] = [];
  readonly filter: KeyFilter;

  constructor(start: DiskStart) {
    super();
    this.start = start;
    this.filter = new KeyFilter(start.filter);
  }

  postMessage(message: ToDisk): void {
    this.got.push(message);
  }

  says(message: FromDisk): void {
    this.emit('message', message);
  }

  unref(): void {
    // There is nothing to keep alive.
  }

  async terminate(): Promise<number> {
    this.emit('exit', 0);
    return 0;
  }

  kinds(): string[] {
    return this.got.splice(0).map(({ kind }) => kind);
  }
}

function tierOf(cacheSize = 8_000_000) {
  const clock = new ManualClock();
  const threads: Thread[] = [];
  const noted: Purge[] = [];
  const spawn = (start: DiskStart): Thread => {
    const thread = new Thread(start);
    threads.push(thread);
    return thread;
  };
  const log = memoryLog();
  const tier = new DiskTier({ stateDir: '/state', size: 100_000_000, shared: false, drainMs: 30_000 }, cacheSize, {
    ...{ clock, log, spawn },
    noted: (purge) => noted.push(purge),
  });
  return { tier, clock, noted, thread: () => threads.at(-1) as Thread };
}

const PURGE = { kind: 'tag', tag: 't' } as const;
const kept = (length = 1_000, more = {}) => entry('/a', { lifetime: 600, length, ...more });

test('a response is looked up on disk only if it may be there, and for half a second at most', () => {
  const { tier, clock, thread } = tierOf();
  const found: (readonly object[])[] = [];
  const look = (key: string) => tier.read(key, 1_000, (entries) => found.push(entries));
  assert.equal(look('a'), false);
  for (const key of ['a', 'b']) thread().filter.add(digestOf(key));
  assert.equal(look('a'), true);
  assert.deepEqual(thread().got, [{ kind: 'read', key: 'a', most: 1_000 }]);
  thread().says({ kind: 'read', key: 'a', entries: [kept()] });
  assert.deepEqual([found.length, found[0]?.length, tier.status.hits], [1, 1, 1]);
  look('a');
  clock.pass(499);
  assert.equal(found.length, 1);
  clock.pass(1);
  assert.deepEqual(found[1], []);
  assert.equal(look('b'), false, 'nothing waits for a disk that does not answer');
  clock.pass(5_001);
  assert.deepEqual(tier.warnings, ["the cache can't use /state/cache: the disk does not answer"]);
  thread().says({ kind: 'read', key: 'a', entries: [] });
  assert.deepEqual([look('b'), found.length, tier.warnings], [true, 2, []]);
});

test('at most 64 requests wait for the disk at once', () => {
  const { tier, thread } = tierOf();
  const results = Array.from({ length: 70 }, (_, at) => {
    thread().filter.add(digestOf(`${at}`));
    return tier.read(`${at}`, 1_000, () => undefined);
  });
  assert.equal(results.filter(Boolean).length, 64);
});

test('responses that wait to be written take at most an eighth of the cache, and the older file of one that is dropped is deleted', () => {
  const { tier, thread } = tierOf(8_000);
  for (let round = 0; round < 3; round++) tier.offer(kept(500), null);
  assert.deepEqual([thread().kinds(), tier.status.dropped], [['write', 'write', 'forget'], 1]);
  thread().says({ kind: 'settled', length: 500, outcome: 'written' });
  tier.offer(kept(500), 7);
  thread().says({ kind: 'settled', length: 500, outcome: 'dropped' });
  const { written, dropped } = tier.status;
  assert.deepEqual([thread().kinds(), written, dropped], [['write'], 1, 2]);
});

test('a response that does not stay fresh long enough for its size is not written', () => {
  const { tier, thread } = tierOf(800_000_000);
  const kindOf = (length: number, more: object) => {
    tier.offer(kept(length, more), null);
    return thread().kinds()[0];
  };
  assert.equal(kindOf(1_000, { lifetime: 29 }), 'forget');
  assert.equal(kindOf(1_000, { lifetime: 600, initialAge: 580 }), 'forget');
  assert.equal(kindOf(1_000, { noCache: true }), 'forget');
  assert.equal(kindOf(5_000_000, { lifetime: 60 }), 'forget');
  assert.equal(kindOf(5_000_000, { lifetime: 600 }), 'write');
  assert.equal(kindOf(11_000_000, { lifetime: 6_000 }), 'forget', 'a tenth of the disk at most');
});

test('purges that a thread had not confirmed when it ended are repeated to the next one', async () => {
  const { tier, clock, thread } = tierOf();
  const [done, pending] = [tier.purge(PURGE, [1], true), tier.purge(PURGE, [], false)];
  thread().says({ kind: 'purged', id: 1, count: 2, saved: true });
  assert.deepEqual(await done.then(({ count, saved }) => [count, saved]), [2, true]);
  thread().emit('exit', 1);
  assert.equal(
    tier.read('a', 1, () => assert.fail()),
    false,
  );
  tier.offer(kept(), null);
  clock.pass(5_000);
  assert.deepEqual(
    thread().got.map((message) => (message.kind === 'purge' ? [message.id, message.purge.kind] : message.kind)),
    [
      [2, 'tag'],
      [3, 'target'],
    ],
    'what was stored meanwhile makes an older file of the same URL invalid',
  );
  thread().says({ kind: 'purged', id: 2, count: 1, saved: true });
  assert.equal((await pending).count, 1);
  assert.ok(thread().start.firstId < 0);
});

test('a purge that the disk does not confirm within five seconds is not saved', async () => {
  const { tier, clock } = tierOf();
  const result = tier.purge(PURGE, [], true);
  clock.pass(5_000);
  assert.deepEqual(await result, { count: 0, saved: false });
});

test('files that were released are neither read nor written until they are taken back', async () => {
  const { tier, thread } = tierOf();
  thread().filter.add(digestOf('a'));
  const released = tier.release();
  thread().says({ kind: 'released' });
  await released;
  assert.equal(
    tier.read('a', 1, () => assert.fail()),
    false,
  );
  tier.offer(kept(), null);
  void tier.purge(PURGE, [], false);
  assert.deepEqual(thread().kinds(), ['release', 'purge']);
  tier.reclaim();
  tier.offer(kept(), null);
  assert.deepEqual(thread().kinds(), ['reclaim', 'write']);
});

test('a cache that gets no size loses its files', () => {
  const { tier, thread } = tierOf();
  tier.resize(0);
  assert.deepEqual(thread().kinds(), ['clear']);
  assert.deepEqual(tierOf(0).thread().kinds(), ['clear'], 'what changed while it was off has not been removed');
});

test('purges of a process that is being replaced are passed on', () => {
  const { thread, noted } = tierOf();
  thread().says({ kind: 'noted', purge: PURGE });
  assert.deepEqual(noted, [PURGE]);
});

// Runs alone: it measures the memory of its process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { garbageCollector } from '../../../../shared/runtime/v8-flags.ts';
import { CacheStore } from './store.ts';

test('keys whose responses are not stored take little memory, however long they are', () => {
  const store = new CacheStore(1, { post: () => undefined });
  const key = (at: number): string => `https a.test /${at}${'x'.repeat(16_000)}`;
  const url = { host: 'a.test', target: '/' };
  const collect = garbageCollector();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < 2_000; at++) store.markUncacheable(key(at), at % 2 === 0, 0, '', []);
  collect();
  assert.ok(process.memoryUsage().heapUsed - before < 4_000_000);
  assert.deepEqual(
    [0, 1, 1_998].map((at) => [true, false].map((personal) => store.isUncacheable(key(at), personal, url, 1, null))),
    [
      [true, false],
      [false, true],
      [true, false],
    ],
  );
  assert.equal(store.isUncacheable(key(0), true, url, 60_001, null), false);
});

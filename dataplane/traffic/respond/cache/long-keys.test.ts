// Runs alone: it measures the memory of its process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { garbageCollector } from '../../../../shared/runtime/v8-flags.ts';
import { cachingProxy } from '../../testing/proxy/caching-proxy.ts';
import { get, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
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

for (const control of ['no-store', 'max-age=60'])
  test(`what is remembered of a response with ${control} does not keep the long fields of its request`, async () => {
    using upstream = await UpstreamFixture.serving(() => ok('x', `Cache-Control: ${control}\r\nVary: User-Agent\r\n`));
    using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} });
    const client = await proxy.connect();
    const long = `X-Long: ${'x'.repeat(7_000)}\r\n`;
    const collect = garbageCollector();
    const askAll = async (name: string): Promise<void> => {
      for (let at = 0; at < 500; at++) {
        client.send(get(`/?${name}${at}`, `User-Agent: some browser ${at}\r\n${long}${long}`));
        await client.readAnswer();
      }
      upstream.requests.length = 0;
      collect();
    };
    await askAll('warm');
    const before = process.memoryUsage().heapUsed;
    await askAll('measured');
    const kept = process.memoryUsage().heapUsed - before;
    assert.ok(kept < 3_000_000, `${kept} bytes`);
  });

test('a response that can not be stored and varies by many long names takes little memory, and is known for all requests', () => {
  const store = new CacheStore(1, { post: () => undefined });
  const collect = garbageCollector();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < 2_000; at++)
    store.markUncacheable(
      `https a.test /${at}`,
      false,
      0,
      'x-a: 1\r\n',
      Array.from({ length: 50 }, (_, nth) => `x-${nth}-${at}-${'x'.repeat(100)}`),
    );
  collect();
  assert.ok(process.memoryUsage().heapUsed - before < 4_000_000);
  assert.equal(store.isUncacheable('https a.test /0', false, { host: 'a.test', target: '/' }, 1, 'x-a: 2\r\n'), true);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Folder } from './harness/dataplane.ts';
import { Pair } from './harness/pair.ts';
import { until } from './harness/until.ts';
import { Upstream } from './harness/upstream.ts';

test('all workers share what a site caches, PURGE removes it from all of them, and metrics show it', async () => {
  using folder = new Folder();
  let requests = 0;
  await using upstream = await Upstream.start('site', (request, response) => {
    requests++;
    response.setHeader('cache-control', 'max-age=600');
    response.setHeader('cache-tag', 'all');
    response.end(`${request.url} ${requests}`);
  });
  await using pair = await Pair.start(folder, `shop.test {\n  cache\n  reverse_proxy ${upstream.address}\n}\n`, {
    flags: ['--cache-size', '10mb'],
  });
  const visits = async (path: string): Promise<Set<string>> => {
    const seen = new Set<string>();
    // The kernel spreads connections over both workers.
    for (let at = 0; at < 30; at++) seen.add((await pair.visit('shop.test', path)).text);
    return seen;
  };
  await pair.visit('shop.test', '/');
  await until('the main thread to know it', async () => /sluice_cache_entries 1\n/.test((await pair.admin('/metrics')).text));
  assert.deepEqual(await visits('/'), new Set(['/ 1']));
  assert.deepEqual(await visits('/a?b=c').then((seen) => seen.size <= 2), true);
  const purge = (path: string) => pair.admin(path, { method: 'PURGE' });
  assert.deepEqual(JSON.parse((await purge('/cache/shop.test/a?b=c')).text), { purged: true });
  assert.deepEqual((await purge('/cache/shop.test/a?b=c')).status, 404);
  assert.deepEqual(JSON.parse((await purge('/cache/shop.test/none')).text), { purged: false, reason: 'not found' });
  const before = requests;
  assert.deepEqual(JSON.parse((await purge('/cache/shop.test/')).text), { purged: true });
  assert.equal((await pair.visit('shop.test', '/')).text, `/ ${before + 1}`);
  await until('the main thread to know it', async () => /sluice_cache_entries 1\n/.test((await pair.admin('/metrics')).text));
  assert.deepEqual(JSON.parse((await purge('/cache?tag=all')).text), { purged: true, entries: 1 });
  assert.match((await pair.admin('/metrics')).text, /sluice_cache_requests_total\{domain="shop\.test",result="hit"\} \d\d/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CacheEntry } from '../../cache-messages.ts';
import { CACHE, cachingProxy } from '../../testing/proxy/caching-proxy.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

const ONLY = 'Cache-Control: only-if-cached\r\n';
const statusOf = async (proxy: ProxyFixture, target: string, fields = ''): Promise<string> =>
  (await proxy.request(get(target, ONLY + fields))).line.slice(9, 12);

test('a request for what is stored only never reaches the upstream', async () => {
  using upstream = await UpstreamFixture.serving(({ line }) =>
    line.includes('/own') ? ok('own', 'Cache-Control: no-store\r\n') : ok('text', 'Cache-Control: max-age=60\r\nVary: X-A\r\n'),
  );
  using proxy = await cachingProxy({ ...site('a.test', { address: upstream.address }), cache: {} });
  assert.equal(await statusOf(proxy, '/none'), '504');
  assert.equal(await statusOf(proxy, '/none', 'Range: bytes=0-1\r\n'), '504');
  for (const target of ['/own', '/varying']) await proxy.request(get(target, 'X-A: 1\r\n'));
  const before = upstream.requests.length;
  assert.equal(await statusOf(proxy, '/own'), '504', 'it is known that the response is not stored');
  assert.equal(await statusOf(proxy, '/varying', 'X-A: 2\r\n'), '504', 'another variant is stored');
  assert.equal(await statusOf(proxy, '/varying', 'X-A: 2\r\nRange: bytes=0-1\r\n'), '504');
  assert.equal(await statusOf(proxy, '/varying', 'X-A: 1\r\n'), '200');
  assert.equal(await statusOf(proxy, '/varying', 'X-A: 1\r\nRange: bytes=0-1\r\n'), '206');
  assert.equal(upstream.requests.length, before);
});

test('a request for what is stored only does not wait for another one, and leaves the response to it', async () => {
  let answer: () => void = () => undefined;
  using upstream = await UpstreamFixture.serving((_, wire) => {
    answer = () => wire.send(ok('text', 'Cache-Control: max-age=60\r\n'));
    return null;
  });
  using proxy = await cachingProxy({ ...site('a.test', { address: upstream.address }), cache: {} });
  const first = await proxy.connect();
  first.send(get('/'));
  await eventually('the request', () => upstream.requests.length === 1);
  assert.equal(await statusOf(proxy, '/'), '504');
  answer();
  assert.equal((await first.readAnswer('GET')).body, 'text');
  assert.equal(await statusOf(proxy, '/'), '200');
  assert.equal(upstream.requests.length, 1);
});

test('a request for what is stored only gets what another worker has stored', async () => {
  using upstream = await UpstreamFixture.serving(ok('text', 'Cache-Control: max-age=60\r\n'));
  const route = { ...site('a.test', { address: upstream.address }), cache: {} };
  const entries: CacheEntry[] = [];
  const workers = await Promise.all(
    [1, 2].map(() =>
      ProxyFixture.with([route], CACHE, {
        onCache: (message, worker) => {
          if (message.kind === 'store') entries.push(message.entry);
          if (message.kind === 'look-up')
            worker.handle({ kind: 'cache', message: { kind: 'found', key: message.key, entries, purged: 0 } });
        },
      }),
    ),
  );
  const [one, other] = workers as [ProxyFixture, ProxyFixture];
  assert.equal((await one.request(get('/'))).body, 'text');
  assert.equal((await other.request(get('/', ONLY))).body, 'text');
  assert.equal(upstream.requests.length, 1);
  for (const worker of workers) worker[Symbol.dispose]();
});

import assert from 'node:assert/strict';
import { get } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import type { Overview } from '../../shared/wire/dashboard.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { Upstream } from '../testing/upstream.ts';

/** What the dashboard shows now. */
const overviewOf = ({ socket }: Pair): Promise<Overview> =>
  new Promise((resolve, reject) => {
    const stream = get({ socketPath: socket, path: '/events?view=dashboard' }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        const [, data] = /^event: overview\ndata: (.*)\n\n/m.exec(text) ?? [];
        if (data === undefined) return;
        resolve(JSON.parse(data));
        stream.destroy();
      });
      response.on('error', reject);
    });
    stream.on('error', reject);
  });

describe('the cache', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, '', { flags: ['--cache-size', '10mb'] });
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('all workers share what a site caches, PURGE removes it from all of them, and metrics show it', async () => {
    let requests = 0;
    await using upstream = await Upstream.start('site', (request, response) => {
      requests++;
      response.setHeader('cache-control', 'max-age=600');
      response.setHeader('cache-tag', 'all');
      response.end(`${request.url} ${requests}`);
    });
    await pair.serve(`shop.test {\n  cache\n  reverse_proxy ${upstream.address}\n}\n`);
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
    const metrics = (await pair.admin('/metrics')).text;
    assert.match(metrics, /sluice_cache_requests_total\{domain="shop\.test",result="hit"\} \d\d/);
    const overview = await until('the reports of the workers', async () => {
      const now = await overviewOf(pair);
      return [now.cache, now.hosts[0]?.cache].every((use) => use && use.hits_60m > 25 && use.hits_60m < use.requests_60m) ? now : null;
    });
    assert.deepEqual([overview.cache?.max_bytes, overview.cache?.bytes, overview.cache?.entries], [10 * 2 ** 20, 0, 0]);
    assert.match(metrics, /sluice_cache_route_bytes\{domain="shop\.test"\} 0\n/);
    assert.match(metrics, /sluice_cache_route_evictions_total\{domain="shop\.test"\} 0\n/);
  });

  test('parameters that do not decide are removed for all workers and in PURGE, and cookies and headers can decide', async () => {
    await using upstream = await Upstream.start('site', (request, response) => {
      response.setHeader('cache-control', 'max-age=600');
      response.end(`${request.url} ${request.headers.cookie ?? '-'} ${request.headers['x-device'] ?? '-'}`);
    });
    const key = 'key ignore_query utm_*\n    key cookie currency\n    key header X-Device';
    const sites = `shop.test {\n  cache {\n    ${key}\n  }\n  reverse_proxy ${upstream.address}\n}\n`;
    await pair.serve(sites);
    const entries = (count: number) =>
      until(`${count} entries`, async () => (await pair.admin('/metrics')).text.includes(`sluice_cache_entries ${count}\n`));
    const visit = async (path: string, headers = {}) => {
      const { text, headers: fields } = await pair.visit('shop.test', path, { headers });
      return `${text}${fields['cache-status']?.includes('; hit') ? ' hit' : ''}`;
    };
    assert.equal(await visit('/a?utm_source=x&b=1'), '/a?b=1 - -');
    await entries(1);
    assert.equal(await visit('/a?b=1&utm_medium=y'), '/a?b=1 - - hit');
    assert.equal(await visit('/a?b=1', { cookie: 'currency=EUR', 'x-device': 'phone' }), '/a?b=1 currency=EUR phone');
    await entries(2);
    assert.equal(await visit('/a?b=1', { cookie: 'currency=EUR', 'x-device': 'phone' }), '/a?b=1 currency=EUR phone hit');
    assert.equal(await visit('/a?b=1', { cookie: 'currency=EUR; s=1', 'x-device': 'phone' }), '/a?b=1 currency=EUR; s=1 phone');
    const purged = await pair.admin('/cache/shop.test/a?utm_campaign=z&b=1', { method: 'PURGE' });
    assert.deepEqual([purged.status, JSON.parse(purged.text)], [200, { purged: true }]);
    await entries(0);
    assert.equal(await visit('/a?b=1'), '/a?b=1 - -');
    const { stdout } = await pair.command('routes', '--json');
    const routes = JSON.parse(stdout) as { domain: string; cache?: { key: object } }[];
    assert.deepEqual(routes.find(({ domain }) => domain === 'shop.test')?.cache?.key, {
      ignore_query: ['utm_*'],
      headers: ['X-Device'],
      cookies: ['currency'],
    });
  });
});

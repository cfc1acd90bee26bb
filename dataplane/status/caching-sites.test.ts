import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRoute, type RouteInput } from '../../shared/route.ts';
import { TemporaryTable } from '../table/testing/temporary-table.ts';
import { CachingSites } from './caching-sites.ts';

test('sites that use the cache while it has no size are named, as long as they do', async () => {
  using fixture = await TemporaryTable.start();
  const put = async (domain: string, more: Partial<RouteInput>): Promise<void> => {
    const parsed = parseRoute({ domain, upstream: 'a:1', tls: false, rate_limit_rps: null, under_attack: false, ...more });
    assert.ok(parsed.ok, JSON.stringify(parsed));
    await fixture.table.post(parsed.value);
  };
  await put('early.test', { cache: {} });
  const sites = new CachingSites(fixture.table);
  assert.deepEqual(sites.warnings(1_000), []);
  assert.deepEqual(sites.warnings(0), [
    'the site early.test uses the directive cache, but the cache has no size, so sluice stores nothing',
  ]);
  await put('a.test', {});
  await put('b.test', { handles: [{ path: '/x', cache: true }] });
  assert.match(sites.warnings(0)[0] ?? '', /^2 sites \(early\.test, b\.test\) use the directive cache/);
  for (const domain of ['c.test', 'd.test']) await put(domain, { cache: {} });
  assert.match(sites.warnings(0)[0] ?? '', /^4 sites \(early\.test, b\.test, c\.test, …\) use/);
  for (const domain of ['c.test', 'd.test', 'b.test']) await put(domain, { cache: null });
  await fixture.table.remove('early.test');
  assert.deepEqual(sites.warnings(0), []);
});

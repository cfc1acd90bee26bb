import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRoute, type RouteInput } from '../../shared/route.ts';
import { TemporaryTable } from '../table/testing/temporary-table.ts';
import { WatchedSites } from './watched-sites.ts';

test('sites that use the cache while it has no size are named, as long as they do', async () => {
  using fixture = await TemporaryTable.start();
  const put = async (domain: string, more: Partial<RouteInput>): Promise<void> => {
    const parsed = parseRoute({ domain, upstream: 'a:1', tls: false, rate_limit_rps: null, under_attack: false, ...more });
    assert.ok(parsed.ok, JSON.stringify(parsed));
    await fixture.table.post(parsed.value);
  };
  await put('early.test', { cache: {} });
  const sites = new WatchedSites(fixture.table);
  assert.deepEqual(sites.cacheWarnings(1_000), []);
  assert.deepEqual(sites.cacheWarnings(0), [
    'the site early.test uses the directive cache, but the cache has no size, so sluice stores nothing',
  ]);
  await put('a.test', {});
  await put('b.test', { handles: [{ path: '/x', cache: true }] });
  assert.match(sites.cacheWarnings(0)[0] ?? '', /^2 sites \(early\.test, b\.test\) use the directive cache/);
  for (const domain of ['c.test', 'd.test']) await put(domain, { cache: {} });
  assert.match(sites.cacheWarnings(0)[0] ?? '', /^4 sites \(early\.test, b\.test, c\.test, …\) use/);
  for (const domain of ['c.test', 'd.test', 'b.test']) await put(domain, { cache: null });
  await fixture.table.remove('early.test');
  assert.deepEqual(sites.cacheWarnings(0), []);
});

test('sites for which a port is not open are named, until it is or they are gone', async () => {
  using fixture = await TemporaryTable.start();
  const put = async (domain: string, ports?: number[]): Promise<void> => {
    const parsed = parseRoute({ domain, upstream: 'a:1', tls: false, ...(ports && { ports }) });
    assert.ok(parsed.ok, JSON.stringify(parsed));
    await fixture.table.post(parsed.value);
  };
  await put('a.test', [8443, 9443]);
  await put('everywhere.test');
  const sites = new WatchedSites(fixture.table);
  assert.deepEqual(sites.portWarnings([80, 443, 8443, 9443]), []);
  assert.deepEqual(sites.portWarnings([80, 443]), [
    'the site a.test is not served, because nothing listens on the ports given for it: 8443, 9443',
  ]);
  await put('b.test', [81]);
  assert.deepEqual(sites.portWarnings([80, 443]), [
    '2 sites (a.test, b.test) are not served, because nothing listens on the ports given for them: 8443, 9443, 81',
  ]);
  assert.deepEqual(sites.portWarnings([80, 443, 9443]), [
    'the site b.test is not served, because nothing listens on the ports given for it: 81',
    'the site a.test is served on other ports only, because nothing listens on some of the ports given for it: 8443',
  ]);
  await put('a.test');
  await fixture.table.remove('b.test');
  assert.deepEqual(sites.portWarnings([80, 443]), []);
});

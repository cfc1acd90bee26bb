import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../shared/route.ts';
import { LARGE_BYTES } from '../match/host-index.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

type Handle = NonNullable<RouteInput['handles']>[number];

const fixed = (body: string): Handle['respond'] => ({ status: 200, body });
/** Blocks that no request of a test matches, enough for a route to be large. */
const FILLER: Handle[] = Array.from({ length: 400 }, (_, nth) => ({ path: `/filler/${nth}`, respond: fixed('filler') }));

const large = (handles: readonly Handle[], more: Partial<RouteInput> = {}): RouteInput => {
  const route = { ...site('a.test'), handles: [...handles, ...FILLER], ...more };
  assert.ok(JSON.stringify(route).length > LARGE_BYTES / 3);
  return route;
};
const bodyAt = async (proxy: ProxyFixture, path: string, fields = ''): Promise<string> => (await proxy.request(get(path, fields))).body;

test('the first block that matches handles a request, and the site handles all others', async () => {
  const handles: Handle[] = [
    { path: '/a', respond: fixed('exact') },
    { path: null, match: { header: [{ name: 'X-Canary', values: ['yes'] }] }, respond: fixed('canary') },
    { path: '/a/*', respond: fixed('below') },
    { path: null, match: { path: ['/b', '/b/*'], method: ['GET'] }, respond: fixed('either') },
    { path: null, match: { path: ['*.php'] }, respond: fixed('suffix') },
  ];
  using proxy = await ProxyFixture.start([large(handles, { respond: fixed('site') })]);
  const canary = 'X-Canary: yes\r\n';
  assert.equal(await bodyAt(proxy, '/a', canary), 'exact');
  assert.equal(await bodyAt(proxy, '/a/b', canary), 'canary');
  assert.equal(await bodyAt(proxy, '/a/b'), 'below');
  assert.equal(await bodyAt(proxy, '/b'), 'either');
  assert.equal(await bodyAt(proxy, '/c/b.php'), 'suffix');
  assert.equal(await bodyAt(proxy, '/filler/399'), 'filler');
  assert.equal(await bodyAt(proxy, '/filler/400'), 'site');
  assert.deepEqual(proxy.dryRun('http://a.test/b/c').block, { path: 'a condition', index: 3 });
});

test('a large route chooses the same blocks as a small one', async () => {
  let seed = 3;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const oneOf = <T>(...values: readonly [T, ...T[]]): T => values[random(values.length)] as T;
  const path = (): string => `/${Array.from({ length: random(4) }, () => oneOf('a', 'B', 'ab', '%61', '')).join('/')}`;
  const pattern = (): string => path() + oneOf('', '*', '/*');
  const handle = (): Handle => {
    const { path_regexp, ...rest } = {
      ...(random(3) === 0 && { path: [pattern(), oneOf(pattern(), '*b', '*a*')] as string[] }),
      ...(random(4) === 0 && { query: [{ name: 'q', values: [oneOf('1', '2')] }] }),
      ...(random(8) === 0 && { not: [{ path: [pattern()] }] }),
      ...(random(12) === 0 ? { path_regexp: ['b$'] } : { path_regexp: undefined }),
    };
    const match = { ...rest, ...(path_regexp && { path_regexp }) };
    return { path: oneOf(null, pattern()), ...(Object.keys(match).length > 0 && { match }), respond: fixed('') };
  };
  for (let round = 0; round < 12; round++) {
    const handles = Array.from({ length: 1 + random(40) }, handle);
    const more = { path_case: oneOf('sensitive', 'insensitive') } as const;
    using proxy = await ProxyFixture.start([
      { ...site('small.test'), handles, ...more },
      large(handles, { ...more, domain: 'large.test' }),
    ]);
    for (let request = 0; request < 60; request++) {
      const target = `${path()}${oneOf('', '?q=1', '?q=2')}`;
      const [small, big] = ['small', 'large'].map((name) => proxy.dryRun(`http://${name}.test${target}`).block);
      assert.deepEqual(big, small, `${target} in ${JSON.stringify(handles)}`);
    }
  }
});

test('a change of one block leaves the pools of all others unchanged, even when blocks are inserted before them', async () => {
  using one = await UpstreamFixture.serving(ok('one'));
  using two = await UpstreamFixture.serving(ok('two'));
  const both = [{ address: one.address }, { address: two.address }];
  const pool: Handle = { path: '/pool', upstreams: both };
  const changing = (body: string): Handle => ({ path: '/changing', respond: fixed(body) });
  using proxy = await ProxyFixture.start([large([pool, changing('first')])]);
  assert.equal(await bodyAt(proxy, '/pool'), 'one');
  assert.equal(await bodyAt(proxy, '/changing'), 'first');
  await proxy.publish([large([pool, changing('second')])]);
  assert.equal(await bodyAt(proxy, '/changing'), 'second');
  // A new pool would begin with its first target.
  assert.equal(await bodyAt(proxy, '/pool'), 'two');
  await proxy.publish([large([changing('third'), pool])]);
  assert.deepEqual([await bodyAt(proxy, '/pool'), await bodyAt(proxy, '/changing')], ['one', 'third']);
  await proxy.publish([large([changing('third'), pool, { path: '/new', respond: fixed('new') }])]);
  assert.deepEqual([await bodyAt(proxy, '/pool'), await bodyAt(proxy, '/new')], ['two', 'new']);
  await proxy.publish([large([pool], { respond: fixed('site') })]);
  assert.deepEqual([await bodyAt(proxy, '/new'), await bodyAt(proxy, '/pool')], ['site', 'one']);
  await proxy.publish([{ ...site('a.test'), respond: fixed('small') }]);
  assert.equal(await bodyAt(proxy, '/pool'), 'small');
});

test('a request that waits for a target removed from its block goes to the new one, unless another block names it', async () => {
  using silent = await UpstreamFixture.serving(() => null);
  using other = await UpstreamFixture.serving(ok('other'));
  const named = (path: string, { address }: UpstreamFixture): Handle => ({ path, upstreams: [{ address, id: address }] });
  using proxy = await ProxyFixture.start([large([named('/x', silent), named('/y', silent)])]);
  const client = await proxy.connect();
  client.send(get('/x'));
  await eventually('the target to have the request', () => silent.requests.length === 1);
  await proxy.publish([large([named('/x', other), named('/y', silent)])]);
  assert.equal(await bodyAt(proxy, '/x'), 'other');
  assert.equal(client.unread, '');
  await proxy.publish([large([named('/x', other), named('/y', other)])]);
  assert.equal((await client.readAnswer()).body, 'other');
});

test('paths that could evade the password of a block are refused', async () => {
  const basic_auth = { realm: 'r', users: [{ name: 'u', hash: `$2b$04$${'a'.repeat(53)}` }] };
  using proxy = await ProxyFixture.start([
    large([{ path: '/secret/*', basic_auth, respond: fixed('secret') }], { respond: fixed('site') }),
  ]);
  assert.equal((await proxy.request(get('/secret/'))).line.slice(9, 12), '401');
  assert.equal((await proxy.request(get('/secret%2Fx'))).line.slice(9, 12), '400');
  assert.equal((await proxy.request(get('/x/..%2Fsecret/'))).line.slice(9, 12), '400');
  assert.equal((await proxy.request(get('/other'))).line.slice(9, 12), '200');
});

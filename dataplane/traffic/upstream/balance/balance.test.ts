import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { targetKey } from '../../../ledger/targets.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

type Policy = NonNullable<RouteInput['lb_policy']>;

/** A proxy before three targets, which answer with their names. */
class Scene {
  readonly proxy: ProxyFixture;
  readonly upstreams: readonly UpstreamFixture[];

  private constructor(proxy: ProxyFixture, upstreams: readonly UpstreamFixture[]) {
    this.proxy = proxy;
    this.upstreams = upstreams;
  }

  static async of(lb_policy: Policy, weights: readonly number[] = [1, 1, 1]): Promise<Scene> {
    const upstreams = await Promise.all(weights.map((_, nth) => UpstreamFixture.serving(ok(`${nth}`))));
    return new Scene(await ProxyFixture.start([routeOf(upstreams, lb_policy, weights)]), upstreams);
  }

  async asked(path = '/', fields = ''): Promise<string> {
    const { line, body } = await this.proxy.request(get(path, fields));
    return line.includes(' 200 ') ? body : (line.split(' ')[1] ?? '');
  }

  slotOf(nth: number): number {
    const { targets } = this.proxy.ledger;
    return targets.claim(targetKey(this.upstreams[nth]?.address ?? '', false), this.proxy.clock.now());
  }

  /** Takes a target out of rotation, as consecutive failures do. */
  eject(nth: number): void {
    for (let failure = 0; failure < 3; failure++) this.proxy.ledger.targets.failed(this.slotOf(nth), this.proxy.clock.now());
  }

  [Symbol.dispose](): void {
    this.proxy[Symbol.dispose]();
    for (const upstream of this.upstreams) upstream[Symbol.dispose]();
  }
}

function routeOf(upstreams: readonly UpstreamFixture[], lb_policy: Policy, weights: readonly number[] = [1, 1, 1]): RouteInput {
  const targets = upstreams.map(({ address }, nth) => ({ address, weight: weights[nth] ?? 1 }));
  return { ...site('a.test'), upstreams: targets, lb_policy };
}

const times = async (count: number, ask: () => Promise<string>): Promise<string[]> => {
  const answers: string[] = [];
  for (let nth = 0; nth < count; nth++) answers.push(await ask());
  return answers;
};

test('least_conn counts the requests of all workers, relative to the weights', async () => {
  using scene = await Scene.of({ policy: 'least_conn' }, [1, 1, 2]);
  const { targets } = scene.proxy.ledger;
  targets.begin(scene.slotOf(0), 1);
  targets.begin(scene.slotOf(1), 1);
  assert.deepEqual(new Set(await times(4, () => scene.asked())), new Set(['2']), 'the others have a request of another worker');
  for (let nth = 0; nth < 4; nth++) targets.begin(scene.slotOf(2), 1);
  targets.end(scene.slotOf(1), 1);
  assert.deepEqual(new Set(await times(4, () => scene.asked())), new Set(['1']));
});

test('equal targets of least_conn take turns', async () => {
  using scene = await Scene.of({ policy: 'least_conn' });
  assert.deepEqual((await times(6, () => scene.asked())).sort(), ['0', '0', '1', '1', '2', '2']);
});

test('first uses the first target that is in rotation', async () => {
  using scene = await Scene.of({ policy: 'first' });
  assert.deepEqual(await times(3, () => scene.asked()), ['0', '0', '0']);
  scene.eject(0);
  assert.equal(await scene.asked(), '1');
  scene.eject(1);
  scene.eject(2);
  assert.equal(await scene.asked(), '0', 'a pool never loses its last target to passive health');
});

test('random_choose avoids a busy target and a failing target', async () => {
  using scene = await Scene.of({ policy: 'random_choose', choices: 3 });
  scene.proxy.ledger.targets.begin(scene.slotOf(1), 1);
  scene.eject(2);
  assert.deepEqual(new Set(await times(5, () => scene.asked())), new Set(['0']));
});

test('random reaches every target', async () => {
  using scene = await Scene.of({ policy: 'random' });
  const seen = new Set<string>();
  while (seen.size < 3) seen.add(await scene.asked());
  assert.deepEqual([...seen].sort(), ['0', '1', '2']);
});

for (const [name, policy, requests, without] of [
  ['header', { policy: 'header', name: 'X-User' }, (nth: number) => ['/', `x-user: ${nth}\r\n`], ['/', '']],
  ['query', { policy: 'query', name: 'u' }, (nth: number) => [`/?a=1&u=${nth}`, ''], ['/?uu=1', '']],
  ['uri_hash', { policy: 'uri_hash' }, (nth: number) => [`/page/${nth}`, ''], null],
] as const)
  test(`${name} sends equal requests to the same target and different ones to all`, async () => {
    using scene = await Scene.of(policy);
    const one = (nth: number) => scene.asked(...(requests(nth) as [string, string]));
    const first = await Promise.all(Array.from({ length: 24 }, (_, nth) => one(nth)));
    assert.deepEqual(new Set(first), new Set(['0', '1', '2']));
    assert.deepEqual(await Promise.all(Array.from({ length: 24 }, (_, nth) => one(nth))), first);
    if (without !== null) assert.deepEqual((await times(3, () => scene.asked(...without))).sort(), ['0', '1', '2'], 'others take turns');
    const lost = Number(first[0]);
    scene.eject(lost);
    const after = await Promise.all(Array.from({ length: 24 }, (_, nth) => one(nth)));
    for (const [nth, was] of first.entries()) assert.ok(was === `${lost}` ? after[nth] !== was : after[nth] === was, `${nth}`);
  });

test('ip_hash sends a client to the same target', async () => {
  for (const policy of ['ip_hash', 'client_ip_hash'] as const) {
    using scene = await Scene.of({ policy });
    assert.equal(new Set(await times(5, () => scene.asked())).size, 1);
  }
});

/** The cookie that a response sets; null if it sets none. */
const cookieOf = (head: string): string | null => /^set-cookie: ([^;\r\n]+)/im.exec(head)?.[1] ?? null;

test('cookie sends a visitor to the same target, and only a valid cookie does', async () => {
  using scene = await Scene.of({ policy: 'cookie', name: 'stick' });
  const first = await scene.proxy.request(get());
  const cookie = cookieOf(first.head);
  assert.match(first.head, /\r\nSet-Cookie: stick=[\w-]{24}; Path=\/; HttpOnly; SameSite=Lax\r\n/);
  for (let nth = 0; nth < 4; nth++) {
    const next = await scene.proxy.request(get('/', `Cookie: a=b; ${cookie}\r\n`));
    assert.equal(next.body, first.body);
    assert.equal(cookieOf(next.head), null, 'it is set once');
  }
  for (const bad of ['stick=', `stick=${'A'.repeat(24)}`, `stick=${'A'.repeat(8_000)}`, 'stick', `stick="${cookie}"`]) {
    const next = await scene.proxy.request(get('/', `Cookie: ${bad}\r\n`));
    assert.notEqual(cookieOf(next.head), null, bad.slice(0, 40));
  }
  scene.eject(Number(first.body));
  const moved = await scene.proxy.request(get('/', `Cookie: ${cookie}\r\n`));
  assert.notEqual(moved.body, first.body);
  assert.notEqual(cookieOf(moved.head), null, 'the visitor belongs to the new target from then on');
});

test('blocks with targets of their own and the same cookie keep a visitor to one target each', async () => {
  using scene = await Scene.of({ policy: 'cookie' }, [1, 1, 1, 1]);
  const targets = scene.upstreams.map(({ address }) => ({ address }));
  const lb_policy = { policy: 'cookie' as const };
  const pool = (from: number) => ({ upstreams: targets.slice(from, from + 2), lb_policy });
  await scene.proxy.publish([{ ...site('a.test'), ...pool(0), handles: [{ path: '/api', ...pool(2) }] }]);
  let cookie = '';
  const visit = async (path: string): Promise<string> => {
    const { head, body } = await scene.proxy.request(get(path, cookie && `Cookie: ${cookie}\r\n`));
    cookie = cookieOf(head) ?? cookie;
    return body;
  };
  const first = [await visit('/'), await visit('/api')];
  for (let nth = 0; nth < 4; nth++) assert.deepEqual([await visit('/'), await visit('/api')], first);
  assert.match(cookie, /^lb=[\w-]{24}\.[\w-]{24}$/);
  scene.eject(Number(first[0]));
  const moved = [await visit('/'), await visit('/api')];
  assert.deepEqual([moved[0] === first[0], moved[1]], [false, first[1]]);
  assert.match(cookie, /^lb=[\w-]{24}\.[\w-]{24}$/, 'the value of a target that it no longer has is left out');
  // Of pools that are gone, the oldest value goes first.
  cookie = `lb=${Array.from({ length: 8 }, (_, nth) => `${nth}`.repeat(24)).join('.')}`;
  await visit('/');
  assert.match(cookie, /^lb=[\w-]{24}\.0{24}\.1{24}\.2{24}\.3{24}\.4{24}\.5{24}\.6{24}$/);
});

test('a cookie is valid in a proxy that has restarted with the same keys, and a response of the proxy sets none', async () => {
  using scene = await Scene.of({ policy: 'cookie' });
  const first = await scene.proxy.request(get());
  using restarted = await ProxyFixture.start([routeOf(scene.upstreams, { policy: 'cookie' })]);
  for (let nth = 0; nth < 3; nth++)
    assert.equal((await restarted.request(get('/', `Cookie: ${cookieOf(first.head)}\r\n`))).body, first.body);
  using gone = await UpstreamFixture.start();
  const { address } = gone;
  gone[Symbol.dispose]();
  await scene.proxy.publish([{ ...site('a.test'), upstreams: [{ address }], lb_policy: { policy: 'cookie' } }]);
  const failed = await scene.proxy.request(get());
  assert.match(failed.line, / 502 /);
  assert.equal(cookieOf(failed.head), null);
});

test('a block with a policy and no targets of its own uses those of the site', async () => {
  using scene = await Scene.of({ policy: 'round_robin' });
  const handles = [{ path: '/first/*', lb_policy: { policy: 'first' as const } }];
  await scene.proxy.publish([{ ...routeOf(scene.upstreams, { policy: 'round_robin' }), handles }]);
  assert.deepEqual(await times(3, () => scene.asked('/first/x')), ['0', '0', '0']);
  assert.deepEqual((await times(3, () => scene.asked('/x'))).sort(), ['0', '1', '2']);
});

test('a dry run names the policy', async () => {
  using scene = await Scene.of({ policy: 'cookie' });
  assert.equal(scene.proxy.dryRun('http://a.test/').verdict, 'forwarded to one of 3 targets, the one that the cookie lb selects');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '../../../../shared/runtime/random.ts';
import { keyOf } from '../../../ledger/hash.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { Endpoint } from '../target/endpoint.ts';
import type { Balancer } from './balancer.ts';
import type { Candidate } from './candidate.ts';
import { LeastInFlight } from './least-in-flight.ts';
import { RandomChoice } from './random-choice.ts';
import { Ranked } from './ranked.ts';
import { hashed } from './rankings.ts';
import { interleave } from './round-robin.ts';

const KEYS = 20_000;

const candidate = (address: string, weight = 1, isEjected = false): Candidate => ({
  endpoint: { address, inFlight: 0, ejectedFor: () => isEjected } as Partial<Endpoint> as Endpoint,
  weight,
  healthFlag: null,
  maxInFlight: 0,
  hash: keyOf(address).hash,
});
const pool = (count: number): Candidate[] => Array.from({ length: count }, (_, nth) => candidate(`10.0.0.${nth + 1}:80`));

/** The address chosen for each key. */
const chosen = (candidates: readonly Candidate[]): string[] =>
  picked(
    new Ranked(
      candidates,
      hashed(({ target }) => target, candidates),
      () => assert.fail('every request has a key'),
    ),
  );

const picked = (balancer: Balancer): string[] =>
  Array.from(
    { length: KEYS },
    (_, key) => balancer.pick({ target: `user-${key}`, tried: null } as Partial<Exchange> as Exchange, 0)?.address ?? '',
  );

/** A generator of the same numbers each time. */
function fractions(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 0x1_0000_0000;
  };
}

function shares(addresses: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const address of addresses) counts.set(address, (counts.get(address) ?? 0) + 1 / KEYS);
  return counts;
}

test('hashing gives each of 10 targets its share within a tenth', () => {
  for (const [address, share] of shares(chosen(pool(10)))) assert.ok(Math.abs(share - 0.1) < 0.01, `${address}: ${share}`);
});

test('hashing honours weights', () => {
  const got = shares(chosen([candidate('a:80', 3), candidate('b:80', 1), candidate('c:80', 6)]));
  for (const [address, share] of [
    ['a:80', 0.3],
    ['b:80', 0.1],
    ['c:80', 0.6],
  ] as const)
    assert.ok(Math.abs((got.get(address) ?? 0) - share) < 0.02, `${address}: ${got.get(address)}`);
});

test('only the requests of a target that is removed change their target, and a new one gets only its share', () => {
  const all = pool(10);
  const before = chosen(all);
  const after = chosen(all.slice(1));
  const gone = all[0]?.endpoint.address;
  assert.ok(before.every((address, key) => address === gone || address === after[key]));
  const more = chosen([...all, candidate('10.0.1.1:80')]);
  const moved = before.filter((address, key) => address !== more[key]).length;
  assert.ok(Math.abs(moved / KEYS - 1 / 11) < 0.01, `${moved} of ${KEYS} moved`);
  assert.ok(before.every((address, key) => address === more[key] || more[key] === '10.0.1.1:80'));
});

test('the order in which targets are listed makes no difference', () => {
  assert.deepEqual(chosen(pool(5).reverse()), chosen(pool(5)));
});

const random = (choices: number) => (candidates: readonly Candidate[]) =>
  new RandomChoice(interleave(candidates), choices, { ...systemRandom, fraction: fractions() });
const leastConn = (candidates: readonly Candidate[]) => new LeastInFlight(candidates);

for (const [policy, of] of [
  ['random', random(1)],
  ['random_choose', random(2)],
  ['least_conn', leastConn],
] as const) {
  test(`with ${policy}, the requests of targets that are out of rotation go to all others alike`, () => {
    for (const out of [1, 5, 8]) {
      const got = shares(picked(of(Array.from({ length: 10 }, (_, nth) => candidate(`${nth}`, 1, nth >= 1 && nth <= out)))));
      assert.equal(got.size, 10 - out);
      for (const [address, share] of got) assert.ok(Math.abs(share * (10 - out) - 1) < 0.1, `${address} of ${10 - out}: ${share}`);
    }
  });

  test(`with ${policy}, a pool never loses its last targets to passive health`, () => {
    const got = shares(picked(of(Array.from({ length: 4 }, (_, nth) => candidate(`${nth}`, 1, true)))));
    for (const [address, share] of got) assert.ok(Math.abs(share - 0.25) < 0.025, `${address}: ${share}`);
    assert.equal(got.size, 4);
  });
}

test('idle targets of least_conn get requests in proportion to their weights', () => {
  const got = shares(picked(leastConn([candidate('a', 5), candidate('b', 3), candidate('c', 2)])));
  assert.deepEqual(
    ['a', 'b', 'c'].map((address) => Math.round((got.get(address) ?? 0) * 1_000)),
    [500, 300, 200],
  );
});

test('with least_conn, a target that does not respond gets few requests, also beside one of little weight', () => {
  const [hung, quick, light] = [candidate('10.0.0.1:80', 100), candidate('10.0.0.2:80', 100), candidate('10.0.0.3:80', 1)];
  const balancer = new LeastInFlight([hung, quick, light]);
  const picks = new Map<Endpoint, number>();
  for (let nth = 0; nth < 1_000; nth++) {
    const endpoint = balancer.pick({ tried: null } as Partial<Exchange> as Exchange, 0);
    assert.ok(endpoint !== null);
    picks.set(endpoint, (picks.get(endpoint) ?? 0) + 1);
    if (endpoint === hung.endpoint) Object.assign(endpoint, { inFlight: endpoint.inFlight + 1 });
  }
  assert.ok((picks.get(hung.endpoint) ?? 0) <= 2, `${picks.get(hung.endpoint)}`);
  assert.ok((picks.get(light.endpoint) ?? 0) > 5, `${picks.get(light.endpoint)}`);
});

test('with least_conn, a target of little weight gets little although all others are in use', () => {
  for (const [heavy, atOnce, most] of [
    [99, 2, 0.02],
    [99, 10, 0.02],
    [3, 2, 0.26],
  ] as const) {
    const candidates = [candidate('10.0.0.1:80', heavy), candidate('10.0.0.2:80', 1)];
    const balancer = new LeastInFlight(candidates);
    const inProgress: Endpoint[] = [];
    const count = (endpoint: Endpoint, more: number) => Object.assign(endpoint, { inFlight: endpoint.inFlight + more });
    let light = 0;
    for (let nth = 0; nth < 4_000; nth++) {
      const endpoint = balancer.pick({ tried: null } as Partial<Exchange> as Exchange, 0);
      assert.ok(endpoint !== null);
      inProgress.push(count(endpoint, 1));
      if (endpoint.address === '10.0.0.2:80') light++;
      const [oldest] = inProgress;
      if (oldest === undefined || inProgress.length < atOnce) continue;
      inProgress.shift();
      count(oldest, -1);
    }
    assert.ok(light / 4_000 < most && light > 0, `${heavy}:1, ${atOnce} at a time: ${light} of 4000`);
  }
});

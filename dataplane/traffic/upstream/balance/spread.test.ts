import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyOf } from '../../../ledger/hash.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { Endpoint } from '../target/endpoint.ts';
import type { Candidate } from './candidate.ts';
import { Ranked } from './ranked.ts';
import { hashed } from './rankings.ts';

const KEYS = 20_000;

const candidate = (address: string, weight = 1): Candidate => ({
  endpoint: { address, ejectedFor: () => false } as Partial<Endpoint> as Endpoint,
  weight,
  healthFlag: null,
  maxInFlight: 0,
  hash: keyOf(address).hash,
});
const pool = (count: number): Candidate[] => Array.from({ length: count }, (_, nth) => candidate(`10.0.0.${nth + 1}:80`));

/** The address chosen for each key. */
function chosen(candidates: readonly Candidate[]): string[] {
  const ranked = new Ranked(
    candidates,
    hashed(({ target }) => target, candidates),
    () => assert.fail('every request has a key'),
  );
  return Array.from(
    { length: KEYS },
    (_, key) => ranked.pick({ target: `user-${key}`, tried: null } as Partial<Exchange> as Exchange, 0)?.address ?? '',
  );
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

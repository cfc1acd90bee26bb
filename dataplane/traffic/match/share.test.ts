import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShareCondition } from '../../../shared/condition.ts';
import { type DrawnRequest, shareTest } from './share.ts';

const REQUESTS = 4_000;
const request = (fields = '', address = '192.0.2.1', secure = false): DrawnRequest => ({
  fields,
  secure,
  draw: -1,
  splitLine: '',
  client: { address },
});
/** The indexes of the shares that a request belongs to. */
const groupsOf = (shares: readonly ShareCondition[], x: DrawnRequest): number[] =>
  shares.flatMap((share, index) => (shareTest(share)(x) ? [index] : []));
const divided = (weights: readonly number[], more: Partial<ShareCondition> = {}): ShareCondition[] => {
  const of = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight, index) => {
    const from = weights.slice(0, index).reduce((sum, one) => sum + one, 0);
    return { from, to: from + weight, of, ...more };
  });
};

for (const [by, next] of [
  ['request', () => request()],
  ['address', (nth: number) => request('', `10.${nth >> 16}.${(nth >> 8) & 255}.${nth & 255}`)],
  ['header', (nth: number) => request(`X-User: u${nth}\r\n`)],
  ['cookie', () => request()],
] as const)
  test(`by ${by}, each request is in exactly one share, and the shares are as large as their weights`, () => {
    const shares = divided([70, 0, 20, 10], { by, ...(by === 'header' && { name: 'X-User' }) });
    const counts = [0, 0, 0, 0];
    for (let nth = 0; nth < REQUESTS; nth++) {
      const groups = groupsOf(shares, next(nth));
      assert.equal(groups.length, 1);
      counts[groups[0] as number] = (counts[groups[0] as number] ?? 0) + 1;
    }
    // Six standard deviations.
    for (const [index, weight] of [70, 0, 20, 10].entries()) {
      const share = weight / 100;
      const tolerance = 6 * Math.sqrt(REQUESTS * share * (1 - share));
      assert.ok(Math.abs((counts[index] as number) - REQUESTS * share) <= tolerance, `${counts}`);
    }
  });

test('clients of a share that grows stay in it', () => {
  const [before, after] = [divided([90, 10], { by: 'address' }), divided([60, 40], { by: 'address' })];
  let joined = 0;
  for (let nth = 0; nth < REQUESTS; nth++) {
    const x = request('', `10.0.${nth >> 8}.${nth & 255}`);
    const [was] = groupsOf(before, x);
    const [is] = groupsOf(after, x);
    if (was === 1) assert.equal(is, 1);
    else if (is === 1) joined++;
  }
  assert.ok(joined > 0);
});

test('a client of IPv6 is its /64', () => {
  const shares = divided([1, 1], { by: 'address' });
  for (let nth = 0; nth < 100; nth++)
    assert.deepEqual(groupsOf(shares, request('', `2001:db8::${nth.toString(16)}`)), groupsOf(shares, request('', '2001:db8::1')));
});

test('the cookie keeps a browser in its share, and one that is not a draw is replaced', () => {
  const shares = divided([50, 50], { by: 'cookie' });
  for (const fields of ['', 'Cookie: sluice_split=x\r\n', 'Cookie: sluice_split=12345678\r\n', 'Cookie: sluice_split=\r\n']) {
    const first = request(fields, '192.0.2.1', true);
    const groups = groupsOf(shares, first);
    const cookie = /^Set-Cookie: (sluice_split=\d+); Path=\/; Max-Age=2592000; HttpOnly; Secure; SameSite=None\r\n$/.exec(first.splitLine);
    assert.ok(cookie, first.splitLine);
    const later = request(`Cookie: a=b; ${cookie[1]}\r\n`);
    assert.deepEqual(groupsOf(shares, later), groups);
    assert.equal(later.splitLine, '');
  }
});

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { Clearances, leadingZeros } from './clearance.ts';
import { solve } from './solve.ts';

const NOW = 1_800_000_000;
const SITE = 'a.test';
const NETWORK = '192.0.2.1';

/** Runs what browsers run. @returns the cookie. */
function solved(token: string, bits: number): string {
  const turns: (() => void)[] = [];
  let cookie = '';
  let reloaded = false;
  solve(
    { token, bits, cookie: 'c', maxAge: 60 },
    {
      document: {
        get cookie() {
          return cookie;
        },
        set cookie(text) {
          cookie = text;
        },
        getElementById: () => null,
      },
      location: {
        protocol: 'https:',
        reload: () => {
          reloaded = true;
        },
      },
      sessionStorage: { getItem: () => null, setItem: () => undefined },
      setTimeout: (act) => turns.push(act),
    },
  );
  for (let turn = turns.shift(); turn; turn = turns.shift()) turn();
  assert.ok(reloaded);
  assert.match(cookie, /^c=[^;]+; Path=\/; Max-Age=60; SameSite=Lax; Secure$/);
  return cookie.slice(2, cookie.indexOf(';'));
}

test('what a browser finds is a hash with that many zero bits, and is accepted until it expires', () => {
  const clearances = new Clearances(Buffer.alloc(32, 1));
  for (const bits of [8, 12, 15]) {
    const cookie = solved(clearances.token(SITE, NETWORK, NOW + 60, bits), bits);
    assert.ok(leadingZeros(hash('sha256', cookie, 'buffer')) >= bits);
    for (let time = 0; time < 2; time++) assert.ok(clearances.isValid(cookie, SITE, NETWORK, NOW, bits), 'verified, then remembered');
    assert.ok(!clearances.isValid(cookie, SITE, NETWORK, NOW, bits + 1), 'too easy for what is wanted now');
    assert.ok(!clearances.isValid(cookie, SITE, NETWORK, NOW + 60, bits), 'expired');
    assert.ok(new Clearances(Buffer.alloc(32, 1)).isValid(cookie, SITE, NETWORK, NOW, bits), 'another worker');
  }
});

test('a clearance is not accepted from another client, for another site, with another key or changed in any way', () => {
  const clearances = new Clearances(Buffer.alloc(32, 1));
  const cookie = solved(clearances.token(SITE, NETWORK, NOW + 60, 8), 8);
  assert.ok(clearances.isValid(cookie, SITE, NETWORK, NOW, 8));
  assert.ok(!clearances.isValid(cookie, SITE, '192.0.2.2', NOW, 8));
  assert.ok(!clearances.isValid(cookie, 'b.test', NETWORK, NOW, 8));
  assert.ok(!new Clearances(Buffer.alloc(32, 2)).isValid(cookie, SITE, NETWORK, NOW, 8));
  const easy = clearances.token(SITE, NETWORK, NOW + 60, 20);
  assert.ok(!clearances.isValid(`${easy}.1`, SITE, NETWORK, NOW, 8), 'unsolved');
  for (let at = 0; at < cookie.indexOf('.'); at++) {
    const forged = `${cookie.slice(0, at)}${cookie[at] === 'A' ? 'B' : 'A'}${cookie.slice(at + 1)}`;
    assert.ok(!clearances.isValid(forged, SITE, NETWORK, NOW, 8), `character ${at}`);
  }
  for (const text of [
    '',
    '.',
    'x',
    `${cookie} `,
    `${cookie}.1`,
    cookie.replace('.', '.0x'),
    `${cookie.split('.')[0]}.-1`,
    '\u0000'.repeat(40),
    'A'.repeat(10_000),
  ])
    assert.ok(!clearances.isValid(text, SITE, NETWORK, NOW, 8), JSON.stringify(text).slice(0, 40));
});

test('zero bits are counted from the beginning of a hash', () => {
  for (const [bytes, zeros] of [
    [[0x80], 0],
    [[0x01], 7],
    [[0x00, 0x40], 9],
    [[0x00, 0x00], 16],
  ] as const)
    assert.equal(leadingZeros(Uint8Array.from(bytes)), zeros);
});

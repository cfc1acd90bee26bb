import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { Clearances, leadingZeros } from './clearance.ts';
import { solve } from './solve.ts';

const NOW = 1_800_000_000;
const SITE = 'a.test';
const NETWORK = '192.0.2.1';

/** Runs what browsers run, until it reloads the page or shows `again`. @returns the cookie. */
function solved(response: { ok: boolean; json(): Promise<unknown> }): Promise<string> {
  return new Promise((resolve, reject) => {
    let cookie = '';
    solve(
      { path: '/challenge', cookie: 'c' },
      {
        document: {
          get cookie() {
            return cookie;
          },
          set cookie(text) {
            cookie = text;
          },
          getElementById: (id) => ({
            set hidden(hidden: boolean) {
              if (id === 'again' && !hidden) reject(new Error('no challenge'));
            },
          }),
        },
        location: { protocol: 'https:', reload: () => resolve(cookie) },
        sessionStorage: { getItem: () => null, setItem: () => undefined },
        fetch: async (path) => {
          assert.equal(path, '/challenge');
          return response;
        },
        setTimeout: setImmediate,
      },
    );
  });
}

async function solution(token: string, bits: number): Promise<string> {
  const cookie = await solved({ ok: true, json: async () => ({ token, bits, max_age: 60 }) });
  assert.match(cookie, /^c=[^;]+; Path=\/; Max-Age=60; SameSite=Lax; Secure$/);
  return cookie.slice(2, cookie.indexOf(';'));
}

test('a browser that gets no challenge, or one that it does not understand, shows that the check failed', async () => {
  await assert.rejects(solved({ ok: false, json: async () => ({}) }), /no challenge/);
  await assert.rejects(solved({ ok: true, json: () => Promise.reject(new SyntaxError('HTML')) }), /no challenge/);
});

test('what a browser finds is a hash with that many zero bits, and is accepted until it expires', async () => {
  const clearances = new Clearances(Buffer.alloc(32, 1));
  for (const bits of [8, 12, 15]) {
    const cookie = await solution(clearances.token(SITE, NETWORK, NOW + 60, bits), bits);
    assert.ok(leadingZeros(hash('sha256', cookie, 'buffer')) >= bits);
    for (let time = 0; time < 2; time++) assert.ok(clearances.isValid(cookie, SITE, NETWORK, NOW, bits), 'verified, then remembered');
    assert.ok(!clearances.isValid(cookie, SITE, NETWORK, NOW, bits + 1), 'too easy for what is wanted now');
    assert.ok(!clearances.isValid(cookie, SITE, NETWORK, NOW + 60, bits), 'expired');
    assert.ok(new Clearances(Buffer.alloc(32, 1)).isValid(cookie, SITE, NETWORK, NOW, bits), 'another worker');
  }
});

test('a clearance is not accepted from another client, for another site, with another key or changed in any way', async () => {
  const clearances = new Clearances(Buffer.alloc(32, 1));
  const cookie = await solution(clearances.token(SITE, NETWORK, NOW + 60, 8), 8);
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

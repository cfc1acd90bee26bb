import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VerifiedPasswords } from './verified.ts';

const pairOf = (verified: VerifiedPasswords, hash: string, user: string, password: string) =>
  verified.pairOf(hash, { user, password: Buffer.from(password) });

test('the least recently used pair is forgotten first', () => {
  const verified = new VerifiedPasswords(Buffer.alloc(32, 1));
  for (let nth = 0; nth < 1_024; nth++) verified.add(`${nth}`);
  assert.equal(verified.has('0'), true);
  verified.add('one more');
  assert.deepEqual([verified.has('0'), verified.has('1'), verified.has('2'), verified.has('one more')], [true, false, true, true]);
});

test('a pair combines hash, user and password under one key, and reveals none of the three', () => {
  const verified = new VerifiedPasswords(Buffer.alloc(32, 1));
  const pair = pairOf(verified, 'hash', 'user', 'password');
  assert.equal(pairOf(verified, 'hash', 'user', 'password'), pair);
  for (const other of [
    pairOf(verified, 'hasH', 'user', 'password'),
    pairOf(verified, 'hash', 'use', 'rpassword'),
    pairOf(verified, 'hash', 'user', 'passworD'),
    pairOf(new VerifiedPasswords(Buffer.alloc(32, 2)), 'hash', 'user', 'password'),
  ])
    assert.notEqual(other, pair);
  assert.doesNotMatch(pair, /hash|user|password/);
});

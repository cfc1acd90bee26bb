import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_LIMITS } from '../exchange/limits.ts';
import { acceptsUpgrade, replyHead } from './reply-head.ts';

const switchingTo = (upgrade: string) => {
  const rawHeaders = ['Connection', 'Upgrade', 'Upgrade', upgrade];
  const limits = { ...DEFAULT_LIMITS.head, bytes: Number.POSITIVE_INFINITY };
  const head = replyHead({ httpVersion: '1.1', statusCode: 101, statusMessage: 'OK', rawHeaders }, limits, null);
  assert.ok(head !== null);
  return head;
};

test('an upgrade is accepted to protocols that were requested, and to no others', () => {
  assert.equal(acceptsUpgrade(switchingTo('a/1, B'), 'b, A/1, c'), true);
  for (const upgrade of ['d', 'a, d', 'a/1', '', ',']) assert.equal(acceptsUpgrade(switchingTo(upgrade), 'a, b'), false, upgrade);
});

test('the protocols of an upgrade are compared in linear time, however many its client and its target list', () => {
  // More than any head can have: in quadratic time, this would take minutes.
  const count = 500_000;
  assert.equal(acceptsUpgrade(switchingTo('z,'.repeat(count)), `${'y, '.repeat(count)}z`), true);
});

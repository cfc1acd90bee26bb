import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renewalTime } from './renewal.ts';
import { retryDelay } from './retry.ts';

const DAY = 86_400_000;
const life = (days: number) => ({ notBefore: 0, notAfter: days * DAY });

describe('a certificate is renewed', () => {
  test('two thirds through its life, whether that is 90 days or 6', () => {
    assert.equal(renewalTime(life(90), null, 0), 60 * DAY);
    assert.equal(renewalTime(life(6), null, 0), 4 * DAY);
  });

  test('a little earlier by chance, never later', () => {
    assert.equal(renewalTime(life(90), null, 1), Math.round(90 * DAY * (2 / 3 - 0.03)));
  });

  test('in the window that its authority names', () => {
    assert.equal(renewalTime(life(90), { start: 50 * DAY, end: 52 * DAY }, 0.5), 51 * DAY);
  });

  test('as usual where the window makes no sense', () => {
    for (const window of [
      { start: 5, end: 5 },
      { start: 90 * DAY, end: 91 * DAY },
    ])
      assert.equal(renewalTime(life(90), window, 0), 60 * DAY);
  });
});

describe('after a failure', () => {
  test('an authority that can’t be reached is asked again within 8 s, however often that was', () => {
    for (const failures of [1, 2, 3, 50]) assert.ok(retryDelay('unreachable', failures, null, 1) <= 8_000);
  });

  test('a name is checked no more than five times in the first hour', () => {
    let at = 0;
    let checks = 0;
    for (let failures = 1; at <= 3_600_000; failures++) {
      checks++;
      at += retryDelay('validation', failures, null, 0);
    }
    assert.ok(checks <= 5, `${checks} checks`);
  });

  test('what the authority asks for is waited for, but for a day at most', () => {
    assert.equal(retryDelay('limited', 1, 7_200_000, 0), 7_200_000);
    assert.equal(retryDelay('limited', 1, 1e12, 0), DAY);
  });
});

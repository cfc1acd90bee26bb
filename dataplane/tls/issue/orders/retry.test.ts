import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { retryDelay, withinLifetime } from './retry.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('the delay after a failure', () => {
  test('is at most 8 s for an unreachable authority, however often it failed', () => {
    for (const failures of [1, 2, 3, 50]) assert.ok(retryDelay('unreachable', failures, null, 1) <= 8_000);
  });

  test('allows at most five validations of a name in the first hour', () => {
    let at = 0;
    let checks = 0;
    for (let failures = 1; at <= 3_600_000; failures++) {
      checks++;
      at += retryDelay('validation', failures, null, 0);
    }
    assert.ok(checks <= 5, `${checks} checks`);
  });

  test('is at most a third of the remaining lifetime for a renewal, and at least a minute', () => {
    const delay = retryDelay('refused', 4, null, 0);
    assert.equal(withinLifetime(delay, 12 * HOUR), 4 * HOUR);
    assert.equal(withinLifetime(delay, 30 * DAY), DAY);
    assert.equal(withinLifetime(delay, MINUTE), MINUTE);
    assert.equal(withinLifetime(delay, -MINUTE), DAY);
    assert.equal(withinLifetime(2_000, 12 * HOUR), 2_000);
  });

  test('honors Retry-After for at most a day', () => {
    assert.equal(retryDelay('limited', 1, 7_200_000, 0), 7_200_000);
    assert.equal(retryDelay('limited', 1, 1e12, 0), DAY);
    assert.equal(retryDelay('limited', 3, 90_000, 0), 90_000);
    assert.equal(retryDelay('unreachable', 1, 120_000, 0), 120_000);
    assert.equal(retryDelay('unreachable', 1, 1e12, 0), 3_600_000);
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type RenewalWindow, renewalTime } from './renewal-time.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NAMES = Array.from({ length: 200 }, (_, at) => `site-${at}.example.com`);
const life = (ms: number, savedAt = 0) => ({ notBefore: 0, notAfter: ms, savedAt });
const at = (ms: number, window: RenewalWindow | null = null, name = 'a.test') => renewalTime(name, life(ms), window, 0);

describe('the renewal time', () => {
  test('is at two thirds of the lifetime or slightly earlier, whether that is 90 days, 6 days or 6 minutes', () => {
    for (const ms of [90 * DAY, 6 * DAY, 6 * MINUTE])
      for (const name of NAMES) {
        const share = at(ms, null, name) / ms;
        assert.ok(share > 2 / 3 - 0.0301 && share <= 2 / 3 + 1e-6, `${name}: ${share}`);
      }
  });

  test('is a stable moment in the authority’s window, and spread over all of it', () => {
    const window = { start: 50 * DAY, end: 52 * DAY };
    const moments = NAMES.map((name) => at(90 * DAY, window, name));
    assert.ok(moments.every((moment) => moment >= window.start && moment <= window.end));
    for (let part = 0; part < 4; part++) {
      const inPart = moments.filter((moment) => Math.floor((moment - window.start) / (DAY / 2)) === part).length;
      assert.ok(inPart > 25, `quarter ${part} has ${inPart} of 200`);
    }
    assert.deepEqual(
      NAMES.map((name) => at(90 * DAY, window, name)),
      moments,
    );
  });

  test('is a different moment in a different window', () => {
    const first = at(90 * DAY, { start: 50 * DAY, end: 52 * DAY }) - 50 * DAY;
    const second = at(90 * DAY, { start: 60 * DAY, end: 62 * DAY }) - 60 * DAY;
    assert.notEqual(first, second);
  });

  test('is now if the window is in the past, as after a revocation', () => {
    const now = 20 * DAY;
    assert.ok(renewalTime('a.test', life(90 * DAY), { start: DAY, end: 2 * DAY }, now) <= now);
  });

  test('ignores an invalid window', () => {
    for (const window of [
      { start: 5, end: 5 },
      { start: 6, end: 5 },
      { start: 90 * DAY, end: 91 * DAY },
    ])
      assert.equal(at(90 * DAY, window), at(90 * DAY));
  });

  test('leaves a tenth of the lifetime, however late the window is', () => {
    for (const name of NAMES) assert.ok(at(90 * DAY, { start: 80 * DAY, end: 100 * DAY }, name) <= 81 * DAY);
  });

  test('does not make a new certificate renew immediately, also if a clock is wrong', () => {
    const now = 200 * DAY;
    const late = life(90 * DAY, now);
    assert.equal(renewalTime('a.test', late, null, now), now + 0.9 * DAY);
    assert.equal(renewalTime('a.test', late, { start: 1, end: 2 }, now), now + HOUR);
    assert.equal(renewalTime('a.test', life(6 * MINUTE, now), { start: 1, end: 2 }, now), now + 3_600);
    assert.equal(renewalTime('a.test', late, null, now - DAY), at(90 * DAY), 'a clock that was ahead when it was issued');
  });
});

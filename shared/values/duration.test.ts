import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseDuration } from './duration.ts';

describe('a duration', () => {
  const GOOD: Record<string, number> = {
    '500ms': 500,
    '30s': 30_000,
    '5m': 300_000,
    '2h': 7_200_000,
    '1d': 86_400_000,
    '1m30s': 90_000,
    '1h0m1ms': 3_600_001,
    '1.5s': 1_500,
    '0.25h': 900_000,
    '0s': 0,
    '0.4ms': 0,
  };
  for (const [text, ms] of Object.entries(GOOD))
    it(`of ${text} is ${ms} ms`, () => assert.deepEqual(parseDuration(text), { ok: true, value: ms }));

  for (const text of ['', '30', 's', '-1s', '+1s', '1 s', ' 1s', '1s ', '1S', '1w', '1.s', '.5s', '1e3s', '1s,2s', '1m30', '1s\n']) {
    it(`may not be ${JSON.stringify(text)}`, () => {
      assert.deepEqual(parseDuration(text), { ok: false, reason: 'a duration is a number with a unit: 500ms, 30s, 5m, 2h, 1d' });
    });
  }

  it('may not exceed the largest safe integer', () => {
    assert.deepEqual(parseDuration('999999999999d'), { ok: false, reason: 'it is too long' });
    assert.deepEqual(parseDuration(`${'9'.repeat(400)}s`), { ok: false, reason: 'it is too long' });
  });
});

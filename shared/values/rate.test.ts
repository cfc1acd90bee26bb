import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRate } from './rate.ts';

const reason = (text: string): string => {
  const parsed = parseRate(text);
  return parsed.ok ? `accepted ${text}` : parsed.reason;
};

describe('a rate', () => {
  it('is from 1 to 1000000 requests per second, minute or hour', () => {
    assert.deepEqual(parseRate('1/s'), { ok: true, value: { requests: 1, period: 'second' } });
    assert.deepEqual(parseRate('30/m'), { ok: true, value: { requests: 30, period: 'minute' } });
    assert.deepEqual(parseRate('1000000/h'), { ok: true, value: { requests: 1_000_000, period: 'hour' } });
  });
  for (const text of ['0/s', '1000001/m', '9999999/h'])
    it(`may not be ${text}`, () => assert.equal(reason(text), 'a rate must be from 1 to 1000000'));
  for (const text of ['', '10', '/s', '10/d', '10 /s', '-1/s', '1.5/s', '10/S', '10/sec', '10/min', '10/s\n', '1e3/s', '10/']) {
    it(`may not be ${JSON.stringify(text)}`, () => assert.equal(reason(text), 'write a rate as <n>/s, <n>/m or <n>/h, for example 10/s'));
  }
});

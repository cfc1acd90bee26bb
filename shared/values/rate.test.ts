import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRate } from './rate.ts';

const reason = (text: string): string => {
  const parsed = parseRate(text);
  return parsed.ok ? `accepted ${text}` : parsed.reason;
};

describe('a rate', () => {
  it('is from 1/s to 1000000/s', () => {
    assert.deepEqual(parseRate('1/s'), { ok: true, value: 1 });
    assert.deepEqual(parseRate('1000000/s'), { ok: true, value: 1_000_000 });
  });
  for (const text of ['0/s', '1000001/s', '9999999/s'])
    it(`may not be ${text}`, () => assert.equal(reason(text), 'a rate must be from 1/s to 1000000/s'));
  for (const text of ['', '10', '/s', '10/m', '10 /s', '-1/s', '1.5/s', '10/S', '10/sec', '10/s\n', '1e3/s']) {
    it(`may not be ${JSON.stringify(text)}`, () => assert.equal(reason(text), 'write a rate as <n>/s, for example 10/s'));
  }
});

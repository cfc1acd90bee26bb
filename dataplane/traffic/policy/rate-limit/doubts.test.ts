import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cookieIn } from '../../exchange/values/cookie.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { parameterIn } from '../../exchange/values/query.ts';
import { compileDoubts } from './doubts.ts';

/** Processor time (µs), the least of several. */
const costOf = (task: () => unknown): number => {
  const times = Array.from({ length: 20 }, () => {
    const before = process.cpuUsage();
    for (let nth = 0; nth < 20; nth++) task();
    return process.cpuUsage(before).user;
  });
  return Math.min(...times);
};

test('whether a request says something several times costs no more than what it says', () => {
  const query = '+&'.repeat(4_000);
  const fields = `Cookie: ${' =;'.repeat(4_000)}\r\n`;
  const x = { target: `/?${query}`, fields } as EvaluatedRequest;
  for (const [text, value] of [
    ['{query.user}', () => parameterIn(query, 'user')],
    ['{cookie.user}', () => cookieIn(fields, 'user')],
  ] as const) {
    const isDoubtful = compileDoubts(text);
    const [both, one] = [costOf(() => isDoubtful(x)), costOf(value)];
    assert.ok(both < 4 * one, `${text}: ${both} instead of ${one} µs`);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cookieIn } from '../../exchange/values/cookie.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { parameterIn } from '../../exchange/values/query.ts';
import { compileDoubts } from './doubts.ts';

/** Processor time (µs). */
function costOf(task: () => unknown): number {
  const before = process.cpuUsage();
  for (let nth = 0; nth < 20; nth++) task();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** The least of several rounds for each, in turns: what else the machine does concerns both. */
function costsOf(one: () => unknown, other: () => unknown): readonly [number, number] {
  const rounds = Array.from({ length: 30 }, () => [costOf(one), costOf(other)] as const);
  return [Math.min(...rounds.map(([cost]) => cost)), Math.min(...rounds.map(([, cost]) => cost))];
}

test('whether a request says something several times costs no more than what it says', () => {
  const query = '+&'.repeat(4_000);
  const fields = `Cookie: ${' =;'.repeat(4_000)}\r\n`;
  const x = { target: `/?${query}`, fields } as EvaluatedRequest;
  for (const [text, value] of [
    ['{query.user}', () => parameterIn(query, 'user')],
    ['{cookie.user}', () => cookieIn(fields, 'user')],
  ] as const) {
    const isDoubtful = compileDoubts(text);
    const [both, one] = costsOf(() => isDoubtful(x), value);
    assert.ok(both < 4 * one, `${text}: ${both} instead of ${one} µs`);
  }
});

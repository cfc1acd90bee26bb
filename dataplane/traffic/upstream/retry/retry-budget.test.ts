import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RetryBudget } from './retry-budget.ts';

const spendAll = (budget: RetryBudget): number => {
  let spent = 0;
  while (spent < 100_000 && budget.spend()) spent++;
  return spent;
};

test('a thousand retries are free, and then a share of the recent requests may be retried', () => {
  const budget = new RetryBudget(20);
  budget.request(0);
  assert.equal(spendAll(budget), 1_001);
  for (let nth = 0; nth < 1_000; nth++) budget.request(1_000);
  assert.equal(spendAll(budget), 200);
  budget.request(5_000);
  assert.equal(spendAll(budget), 0, 'the last five seconds still count');
  budget.request(11_000);
  assert.equal(spendAll(budget), 1_001, 'they do not count any more');
  budget.request(21_000);
  assert.equal(spendAll(budget), 1_001, 'nor do those before ten seconds without requests');
});

test('a share of zero allows no retries at all', () => {
  const budget = new RetryBudget(0);
  budget.request(0);
  assert.equal(budget.spend(), false);
});

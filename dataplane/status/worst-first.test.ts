import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Alert, Severity } from '../../shared/wire/dashboard.ts';
import { WorstFirst } from './worst-first.ts';

const alert = (severity: Severity, code: string): Alert => ({
  severity,
  code,
  domain: null,
  subject: '',
  message: '',
  action: '',
  since: null,
});

test('errors come before warnings and these before advice, in their order, and all are counted', () => {
  const worst = new WorstFirst(4);
  for (const code of ['1', '2', '3'])
    for (const severity of ['advice', 'warning', 'error'] as const) worst.add(alert(severity, `${severity} ${code}`));
  assert.deepEqual(
    worst.list().map(({ code }) => code),
    ['error 1', 'error 2', 'error 3', 'warning 1'],
  );
  assert.equal(worst.count, 9);
});

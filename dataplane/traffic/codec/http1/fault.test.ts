import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULT } from './fault.ts';

test('every fault has a reason of its own, in one line', () => {
  const reasons = Object.values(FAULT).map(({ reason }) => reason);
  assert.equal(new Set(reasons).size, reasons.length);
  for (const reason of reasons) assert.match(reason, /^[A-Za-z0-9.,/ -]+$/);
});

test('every fault is the sender’s, but for what we do not serve', () => {
  for (const [name, { status }] of Object.entries(FAULT)) assert.equal(status < 500, name !== 'tunnelRequest', name);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULT } from './fault.ts';

test('every fault has a unique one-line reason', () => {
  const reasons = Object.values(FAULT).map(({ reason }) => reason);
  assert.equal(new Set(reasons).size, reasons.length);
  for (const reason of reasons) assert.match(reason, /^[A-Za-z0-9.,/ -]+$/);
});

test('every fault except CONNECT has a 4xx status', () => {
  for (const [name, { status }] of Object.entries(FAULT)) assert.equal(status < 500, name !== 'tunnelRequest', name);
});

import assert from 'node:assert/strict';
import { totalmem } from 'node:os';
import { test } from 'node:test';
import { setThreadMemory, usableMemory, withinMemory } from './thread-memory.ts';

const MB = 1_048_576;

test('a process may use what its container has, or all of the memory of its machine', () => {
  assert.equal(usableMemory(1_024 * MB, 128 * MB), 128 * MB);
  for (const unlimited of [0, 2 ** 64, 2_048 * MB]) assert.equal(usableMemory(1_024 * MB, unlimited), 1_024 * MB);
  assert.ok(usableMemory() > 0 && usableMemory() <= totalmem());
});

test('the limits of a thread are parts of its memory where that is small', (t) => {
  t.after(() => setThreadMemory(Number.POSITIVE_INFINITY));
  assert.equal(withinMemory(128 * MB, 16), 128 * MB);
  setThreadMemory(4_096 * MB);
  assert.equal(withinMemory(128 * MB, 16), 128 * MB);
  setThreadMemory(256 * MB);
  assert.equal(withinMemory(128 * MB, 16), 16 * MB);
  assert.equal(withinMemory(128 * MB, 16, 32 * MB), 32 * MB);
  assert.equal(withinMemory(128 * MB, 1, 32 * MB), 128 * MB);
});

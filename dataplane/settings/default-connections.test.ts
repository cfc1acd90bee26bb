import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultMaxConnections } from './default-connections.ts';

const MB = 1_048_576;

test('clients may have three quarters of the sockets, but no more connections than the memory is enough for', () => {
  assert.equal(defaultMaxConnections(20_000, 2, 16_384 * MB), 15_000);
  assert.equal(defaultMaxConnections(20_000, 1, 512 * MB), 8_874);
  assert.equal(defaultMaxConnections(20_000, 1, 256 * MB), 3_413);
  assert.equal(defaultMaxConnections(20_000, 2, 256 * MB), 2_901);
  assert.equal(defaultMaxConnections(20_000, 4, 128 * MB), 256);
  assert.equal(defaultMaxConnections(16, 1, 128 * MB), 12);
});

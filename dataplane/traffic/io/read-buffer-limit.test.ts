// Runs alone: it counts the large buffers of its process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { garbageCollector } from '../../../shared/runtime/v8-flags.ts';
import { ReadBuffer } from './read-buffer.ts';
import { fill } from './testing/full-reads.ts';

test('a worker has at most 64 large buffers, and senders that get none continue with the usual ones', async () => {
  let stalled = Array.from({ length: 40 }, () => new ReadBuffer());
  const used = stalled.flatMap((buffers) => fill(buffers, 3, false));
  const large = new Set(used.filter(({ length }) => length === 262_144));
  assert.equal(large.size, 64);
  assert.equal(new Set(used).size, used.length);
  assert.ok(used.slice(-20).every(({ length }) => length === 65_536));
  // Those of connections that are gone are replaced once they have been collected.
  stalled = [];
  used.length = 0;
  large.clear();
  const collect = garbageCollector();
  for (let tries = 0; tries < 100 && fill(new ReadBuffer(), 2, false)[1]?.length !== 262_144; tries++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.equal(fill(new ReadBuffer(), 2, false)[1]?.length, 262_144);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldBody, withoutRest } from './held-body.ts';

test('a body that arrives in one-byte pieces is kept in one buffer, in the end of its size', () => {
  const held = new HeldBody(65_536);
  assert.equal(held.whole.length, 0);
  const text = Array.from({ length: 65_536 }, (_, at) => String.fromCharCode(at % 251)).join('');
  const rooms = new Set<ArrayBufferLike>();
  for (const byte of text) {
    held.add(Buffer.from(byte, 'latin1'));
    rooms.add(held.whole.buffer);
  }
  assert.equal(held.whole.toString('latin1') === text, true);
  assert.ok(rooms.size <= 8, `${rooms.size} buffers`);
  assert.ok(held.whole.buffer.byteLength <= 65_536);
});

test('a piece keeps nothing of what was read with it, unless it is most of that', () => {
  const read = Buffer.allocUnsafeSlow(65_536).fill('x');
  const small = withoutRest(read.subarray(10, 1_034));
  assert.notEqual(small.buffer, read.buffer);
  assert.deepEqual(small, read.subarray(10, 1_034));
  assert.equal(withoutRest(read.subarray(0, 40_000)).buffer, read.buffer);
});

test('a body in one piece is not copied', () => {
  const held = new HeldBody(5);
  const piece = Buffer.from('whole');
  held.add(piece);
  assert.equal(held.whole, piece);
});

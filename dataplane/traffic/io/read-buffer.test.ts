import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadBuffer } from './read-buffer.ts';
import { fill } from './testing/full-reads.ts';

test('a buffer of a body is reused once its content has been sent, and not before', () => {
  const buffers = new ReadBuffer();
  const first = buffers.nextOf(0, 0);
  const second = buffers.nextOf(100, 40);
  assert.notEqual(second, first);
  const third = buffers.nextOf(250, 99);
  assert.ok(third !== first && third !== second);
  assert.equal(buffers.nextOf(300, 100), first);
  assert.equal(buffers.nextOf(400, 260), second);
});

test('a buffer of a body is used again at once if none of its bytes have been passed on, or all of them have been sent', () => {
  const buffers = new ReadBuffer();
  const first = buffers.nextOf(0, 0);
  assert.equal(buffers.nextOf(0, 0), first);
  assert.equal(buffers.nextOf(100, 100), first);
  assert.notEqual(buffers.nextOf(200, 100), first);
});

test('pieces that were copied keep no buffer, however many there are', () => {
  const buffers = new ReadBuffer();
  const first = buffers.nextOf(0, 0);
  for (const passed of [1, 100, 4_196]) assert.ok(buffers.nextOf(passed, 0, false) === first, `${passed}`);
  assert.ok(buffers.nextOf(8_293, 0) !== first);
});

test('a buffer of a body that has not been sent when the body ends is never used again', () => {
  const buffers = new ReadBuffer();
  const first = buffers.nextOf(0, 0);
  const second = buffers.nextOf(100, 0);
  buffers.next(false, false);
  for (let passed = 0; passed < 1_000; passed += 100) {
    const next = buffers.nextOf(passed, passed / 2);
    assert.ok(next !== first && next !== second);
  }
});

test('two connections never read into the same buffer at the same time', () => {
  const [one, other] = [new ReadBuffer(), new ReadBuffer()];
  const inUse = new Map<ReadBuffer, Buffer>();
  for (let round = 1; round < 50; round++)
    for (const buffers of [one, other]) {
      inUse.set(buffers, buffers.nextOf(round * 10, (round - 1) * 10));
      assert.notEqual(inUse.get(one), inUse.get(other));
    }
});

test('a buffer of a body that has ended is used again once its receiver has sent all of it', () => {
  const receiver = { unsent: 200 };
  const buffers = new ReadBuffer();
  const ended = [buffers.nextOf(0, 0), buffers.nextOf(100, 0)];
  buffers.bodyEnds(receiver);
  buffers.next(false, false);
  const held = Array.from({ length: 10 }, (_, at) => buffers.nextOf(1_000 * (at + 1), 0));
  for (const buffer of ended) assert.equal(held.includes(buffer), false);
  receiver.unsent = 0;
  const others = new ReadBuffer();
  const used = Array.from({ length: 10 }, (_, at) => others.nextOf(1_000 * (at + 1), 0));
  for (const buffer of ended) assert.equal(used.filter((one) => one === buffer).length, 1);
  for (const buffer of used) assert.equal(held.includes(buffer), false);
});

test('a body that fills its buffers is read into larger ones, until a read is short', () => {
  const buffers = new ReadBuffer();
  const [small, large, same] = fill(buffers, 3, true);
  assert.deepEqual([small?.length, large?.length], [65_536, 262_144]);
  assert.equal(same, large);
  let passed = 65_536 + 262_144;
  for (const [read, length] of [
    [40_000, 262_144],
    [32_767, 65_536],
    [59_999, 65_536],
    [60_000, 262_144],
  ] as const) {
    passed += read;
    assert.equal(buffers.nextOf(passed, passed).length, length, `after a read of ${read} bytes`);
  }
});

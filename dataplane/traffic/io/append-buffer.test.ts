import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppendBuffer } from './append-buffer.ts';

test('joins pieces without overwriting bytes it returned earlier', () => {
  const buffer = new AppendBuffer();
  let bytes: Buffer = Buffer.from('a');
  const given: [Buffer, string][] = [];
  let text = 'a';
  for (let at = 0; at < 3_000; at++) {
    const piece = String(at);
    bytes = buffer.join(bytes, Buffer.from(piece));
    text += piece;
    if (at % 97 === 0) given.push([bytes, text]);
    // The caller may consume the front between two calls.
    if (at % 401 === 400) {
      bytes = bytes.subarray(10);
      text = text.slice(10);
    }
  }
  assert.equal(bytes.toString(), text);
  for (const [before, expected] of given) assert.equal(before.toString(), expected);
});

test('copies bytes that it did not allocate, or whose end was cut off, and never overwrites them', () => {
  const buffer = new AppendBuffer();
  const first = buffer.join(Buffer.from('one '), Buffer.from('two'));
  const cut = first.subarray(0, 4);
  assert.equal(buffer.join(cut, Buffer.from('three')).toString(), 'one three');
  assert.equal(first.toString(), 'one two');
});

test('a 16 KB head that arrives byte by byte costs less than 1 MB of copying and scanning', () => {
  const buffer = new AppendBuffer();
  let parsed = 0;
  for (let length = 1; length <= 16_384; length++) if (buffer.shouldParse(length)) parsed += length;
  assert.ok(parsed < 1_000_000, `${parsed}`);
  let bytes: Buffer = Buffer.from('x');
  const rooms = new Set<ArrayBufferLike>();
  for (let length = 1; length < 16_384; length++) {
    bytes = buffer.join(bytes, Buffer.from('x'));
    rooms.add(bytes.buffer);
  }
  assert.ok(rooms.size < 10, `${rooms.size} copies`);
});

test('a short head is parsed after every byte', () => {
  const buffer = new AppendBuffer();
  for (let length = 1; length <= 500; length++) assert.equal(buffer.shouldParse(length), true);
});

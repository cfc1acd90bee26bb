import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Gathering } from './gathering.ts';

test('pieces are joined, and what was given out before stays as it was', () => {
  const gathering = new Gathering();
  let bytes: Buffer = Buffer.from('a');
  const given: [Buffer, string][] = [];
  let text = 'a';
  for (let at = 0; at < 3_000; at++) {
    const piece = String(at);
    bytes = gathering.join(bytes, Buffer.from(piece));
    text += piece;
    if (at % 97 === 0) given.push([bytes, text]);
    // The front may be used up in between.
    if (at % 401 === 400) {
      bytes = bytes.subarray(10);
      text = text.slice(10);
    }
  }
  assert.equal(bytes.toString(), text);
  for (const [before, expected] of given) assert.equal(before.toString(), expected);
});

test('bytes of another origin, or of which the end was cut, are copied and never written over', () => {
  const gathering = new Gathering();
  const first = gathering.join(Buffer.from('one '), Buffer.from('two'));
  const cut = first.subarray(0, 4);
  assert.equal(gathering.join(cut, Buffer.from('three')).toString(), 'one three');
  assert.equal(first.toString(), 'one two');
});

test('a head of 16 KB that comes byte by byte is copied and looked at for less than 1 MB in all', () => {
  const gathering = new Gathering();
  let looked = 0;
  for (let length = 1; length <= 16_384; length++) if (gathering.worthJudging(length)) looked += length;
  assert.ok(looked < 1_000_000, `${looked}`);
  let bytes: Buffer = Buffer.from('x');
  const rooms = new Set<ArrayBufferLike>();
  for (let length = 1; length < 16_384; length++) {
    bytes = gathering.join(bytes, Buffer.from('x'));
    rooms.add(bytes.buffer);
  }
  assert.ok(rooms.size < 10, `${rooms.size} copies`);
});

test('a short head is looked at with every byte', () => {
  const gathering = new Gathering();
  for (let length = 1; length <= 500; length++) assert.equal(gathering.worthJudging(length), true);
});

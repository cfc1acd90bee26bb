import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULT } from './fault.ts';
import { DEFAULT_HEAD_LIMITS, ResponseHeadReader } from './response-head-reader.ts';

const read = (heads: ResponseHeadReader, text: string, limits = DEFAULT_HEAD_LIMITS): number =>
  heads.read(Buffer.from(text, 'latin1'), 0, limits, null);

for (const [text, kept] of [
  ['HTTP/1.1 200 OK\nA: b\nC: d\n\n', 'A: b\r\nC: d\r\n'],
  ['HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\n', 'A: b\r\nC: d\r\n'],
  ['HTTP/1.1 200 OK\nA: b\n\r\n', 'A: b\r\n'],
  ['HTTP/1.1 200\n\n', ''],
  ['\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n', 'A: b\r\n'],
  ['\nHTTP/1.1 200 OK\r\nA:b \n\n', 'A: b\r\n'],
] as const)
  test(`${JSON.stringify(text)} ends with its first empty line, regardless of what follows`, () => {
    for (const body of ['', 'x', '\r\n\r\n', '\n\n\r\n\r\n', ` a: b\r\n\r\n${'x'.repeat(300_000)}\r\n\r\n`]) {
      const heads = new ResponseHeadReader();
      assert.equal(read(heads, text + body), text.length);
      assert.deepEqual([heads.fault, heads.head.status, heads.head.fields.kept], [null, 200, kept]);
    }
  });

for (const text of [
  '\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
  '\n\nHTTP/1.1 200 OK\n\n',
  '\r\r\nHTTP/1.1 200 OK\r\n\r\n',
  'HTTP/1.1 200 OK\r\r\n\r\n',
  'HTTP/1.1 200 OK\nA: b\rC: d\n\n',
  'HTTP/1.1 200 OK\nA: b\r\r\n\n',
  'HTTP/1.1 200 OK\nA: b\n c\n\n',
  'HTTP/1.1 200 OK\n\tA: b\n\n',
  'HTTP/1.1 200 OK\nA\n\n',
])
  test(`${JSON.stringify(text)} is not a valid head, at once or in pieces`, () => {
    const whole = new ResponseHeadReader();
    assert.equal(read(whole, text), -1);
    assert.notEqual(whole.fault, null);
    const heads = new ResponseHeadReader();
    let partial: Buffer | null = null;
    for (const byte of text) {
      const buffer: Buffer = heads.join(partial, Buffer.from(byte));
      assert.equal(heads.read(buffer, 0, DEFAULT_HEAD_LIMITS, null), -1);
      if (heads.fault !== null) return;
      partial = heads.keep(buffer);
    }
    assert.fail('nothing was refused');
  });

test('accepts a head with as many lines and bytes as the limits allow, and refuses more', () => {
  const lines = (count: number) => `HTTP/1.1 200 OK\r\n${'Set-Cookie: a=b\r\n'.repeat(count)}\r\n`;
  const bytes = (length: number) => `HTTP/1.1 200 OK\r\nA: ${'b'.repeat(length - 24)}\r\n\r\n`;
  const limits = { bytes: 30_000, lines: 1_000 };
  for (const text of [lines(1_000), bytes(30_000)]) assert.equal(read(new ResponseHeadReader(), text, limits), text.length);
  for (const [text, fault] of [
    [lines(1_001), FAULT.manyFields],
    [bytes(30_001), FAULT.longHead],
    [bytes(30_003).slice(0, -2), FAULT.longHead],
    [bytes(30_003).replaceAll('\r\n', '\n'), null],
  ] as const) {
    const heads = new ResponseHeadReader();
    read(heads, text, limits);
    assert.equal(heads.fault, fault);
  }
});

test('a 256 KB head that arrives byte by byte is copied and scanned only a few times', () => {
  const line = `Set-Cookie: a=${'b'.repeat(300)}\r\n`;
  const text = Buffer.from(`HTTP/1.1 200 OK\r\n${line.repeat(Math.floor(262_000 / line.length))}\r\n`, 'latin1');
  const heads = new ResponseHeadReader();
  const rooms = new Set<ArrayBufferLike>();
  let partial: Buffer | null = null;
  let end = -1;
  for (let at = 0; at < text.length; at++) {
    const buffer: Buffer = heads.join(partial, text.subarray(at, at + 1));
    end = heads.read(buffer, 0, DEFAULT_HEAD_LIMITS, null);
    if (end >= 0) break;
    assert.equal(heads.fault, null);
    partial = heads.keep(buffer);
    rooms.add(partial.buffer);
  }
  assert.equal(end, text.length);
  assert.ok(rooms.size < 16, `${rooms.size} copies`);
});

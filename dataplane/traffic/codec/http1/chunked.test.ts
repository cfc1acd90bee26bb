import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChunkedDecoder, MAX_EXTENSIONS, MAX_TRAILERS } from './chunked.ts';
import { FAULT, type Fault } from './fault.ts';

type Decoded = {
  readonly body: string;
  readonly trailers: string;
  readonly done: boolean;
  readonly fault: Fault | null;
  readonly used: number;
};

/** Feeds `text`, split at `cuts`, each piece inside a longer buffer. */
function decode(text: string, cuts: readonly number[] = [], direction: 'request' | 'response' = 'request'): Decoded {
  const decoder = new ChunkedDecoder(direction);
  let body = '';
  let used = 0;
  let from = 0;
  for (const to of [...cuts, text.length]) {
    const piece = Buffer.from(`x${text.slice(from, to)}y`, 'latin1');
    used += decoder.feed(piece, 1, piece.length - 1, { bodyPiece: (bytes, a, b) => (body += bytes.toString('latin1', a, b)) }) - 1;
    from = to;
    if (decoder.done || decoder.fault !== null) break;
  }
  const { trailers, done, fault } = decoder;
  return { body, trailers, done, fault, used };
}

const REFUSED: readonly (readonly [text: string, fault: Fault])[] = [
  ...['\r\n', ' 1\r\n', '1 \r\n', '1\t\r\n', '0x1\r\n', '+1\r\n', '-1\r\n', 'g\r\n', '1\n', '1\rx', '1,\r\n'].map(
    (text) => [text, FAULT.badChunk] as const,
  ),
  ['20000000000000\r\n', FAULT.badChunk],
  ['10000000000000001\r\n', FAULT.badChunk],
  ['000000000000001\r\n', FAULT.badChunk],
  ['1\r\nab\r\n', FAULT.badChunk],
  ['1\r\na\n', FAULT.badChunk],
  ['1\r\na\rb', FAULT.badChunk],
  ...[
    ';',
    ';;a',
    ';a;',
    ';a=',
    ';=b',
    ' ;a',
    '; a',
    ';a =b',
    ';a= b',
    ';a=b ',
    ';a="b',
    ';a="b"c',
    ';"a"',
    ';a="\x01"',
    ';a="\\\x7f"',
    ';a\0',
    ';\xe9',
  ].map((extension) => [`1${extension}\r\n`, FAULT.badChunk] as const),
  ...[
    'Host: a',
    'Content-Length: 1',
    'Content-Length: x',
    'Transfer-Encoding: chunked',
    'transfer-encoding: x',
    ' A: b',
    'A : b',
    'A',
    ': b',
    'A: \0',
  ].map((trailer) => [`0\r\n${trailer}\r\n\r\n`, FAULT.badTrailer] as const),
  ['0\r\nA: b\n\r\n', FAULT.badTrailer],
  ['0\r\n\n', FAULT.badTrailer],
  ['0\r\n\ra', FAULT.badTrailer],
  [`0\r\n${'A: b\r\n'.repeat(101)}\r\n`, FAULT.longTrailers],
];

for (const [text, fault] of REFUSED) {
  test(`${JSON.stringify(text.slice(0, 60))} is refused: ${fault.reason}, wherever it is split`, () => {
    assert.equal(decode(text).fault, fault);
    for (let cut = 1; cut < text.length; cut++) assert.equal(decode(text, [cut]).fault, fault, `cut at ${cut}`);
  });
}

const ACCEPTED: readonly [text: string, body: string, trailers: string][] = [
  ['0\r\n\r\n', '', ''],
  ['000\r\n\r\n', '', ''],
  ['3\r\nabc\r\n0\r\n\r\n', 'abc', ''],
  ['0a\r\n0123456789\r\nA\r\n\r\n\r\n\r\n\r\n\r\n\r\n1\r\nx\r\n0\r\n\r\n', '0123456789\r\n\r\n\r\n\r\n\r\nx', ''],
  ['1;a\r\nx\r\n0;b=c;d="e; \\"\\\\\t\xe9";f\r\n\r\n', 'x', ''],
  ['1\r\nx\r\n0\r\nA: b\r\nC:\td \r\n\r\n', 'x', 'A: b\r\nC: d\r\n'],
  ['0\r\nX:POST / HTTP/1.1\r\nY:\r\n\r\n', '', 'X: POST / HTTP/1.1\r\nY: \r\n'],
  ['0\r\nUser: \x85admin\r\nA: voil\xc3\xa0\r\n\r\n', '', 'A: voil\xc3\xa0\r\n'],
  ['0\r\nContent_Type: a\r\nX.Forwarded.For: b\r\nVary: c\r\nWWW-Authenticate: d\r\nETag: "e"\r\n\r\n', '', 'ETag: "e"\r\n'],
  ['0\r\nConnection: a\r\nA: 1\r\nX-Forwarded-For: 1\r\nB: 2\r\n\r\n', '', 'B: 2\r\n'],
  ['0\r\nAuthorization: a\r\nCookie: b\r\nX-Sum: c\r\nContent-Type: d\r\nExpect: e\r\n\r\n', '', 'X-Sum: c\r\n'],
];

for (const [text, body, trailers] of ACCEPTED) {
  test(`${JSON.stringify(text)} is decoded wherever it is split, and nothing beyond its end is read`, () => {
    const whole = { body, trailers, done: true, fault: null, used: text.length };
    assert.deepEqual(decode(`${text}GET /`), whole);
    for (let one = 0; one <= text.length; one++) {
      for (let two = one; two <= text.length; two++) assert.deepEqual(decode(text, [one, two]), whole, `cut at ${one} and ${two}`);
    }
    assert.deepEqual(
      decode(
        text,
        Array.from({ length: text.length }, (_, at) => at),
      ),
      whole,
    );
  });
}

test('a body is complete only after its last byte', () => {
  for (const [text] of ACCEPTED) {
    for (let end = 0; end < text.length; end++) {
      const { done, fault } = decode(text.slice(0, end));
      assert.deepEqual([done, fault], [false, null], JSON.stringify(text.slice(0, end)));
    }
  }
});

test('the largest size is 2^53-1', () => {
  assert.equal(decode('1fffffffffffff\r\n').fault, null);
  assert.equal(decode('20000000000000\r\n').fault, FAULT.badChunk);
});

test('the extensions of each chunk may have 256 bytes', () => {
  const chunk = (bytes: number) => `1;${'a'.repeat(bytes - 1)}\r\nx\r\n`;
  assert.equal(decode(chunk(MAX_EXTENSIONS) + chunk(MAX_EXTENSIONS)).fault, null);
  assert.equal(decode(chunk(MAX_EXTENSIONS + 1)).fault, FAULT.longExtensions);
  assert.equal(decode(`1;a="${' '.repeat(MAX_EXTENSIONS)}`).fault, FAULT.longExtensions);
});

test('a size in a response may be padded with as much white space as an extension has bytes, at once or byte by byte', () => {
  const read = (text: string) => [[], Array.from(text, (_, at) => at)].map((cuts) => decode(text, cuts, 'response'));
  for (const padding of [' ', '\t', ' \t ', ' ;a', ' ;a=b', ' '.repeat(MAX_EXTENSIONS)])
    for (const { body, done, fault } of read(`1${padding}\r\nx\r\n0${padding}\r\n\r\n`))
      assert.deepEqual([body, done, fault], ['x', true, null]);
  for (const { fault } of read(`1${' '.repeat(MAX_EXTENSIONS + 1)}`)) assert.equal(fault, FAULT.longExtensions);
  for (const after of [' 2', ' x', ' \n', '\v', ' ; a', ' ;'])
    for (const { fault } of read(`1${after}\r\n`)) assert.equal(fault, FAULT.badChunk, JSON.stringify(after));
});

test('trailers may have 8,192 bytes including their empty line, at once or in pieces', () => {
  const body = (bytes: number) => `0\r\nA: ${'b'.repeat(bytes - 7)}\r\n\r\n`;
  const cuts = Array.from({ length: 16 }, (_, piece) => 3 + piece * 512);
  assert.equal(decode(body(MAX_TRAILERS)).done, true);
  assert.equal(decode(body(MAX_TRAILERS), cuts).done, true);
  assert.equal(decode(body(MAX_TRAILERS + 1)).fault, FAULT.longTrailers);
  assert.equal(decode(body(MAX_TRAILERS + 1), cuts).fault, FAULT.longTrailers);
  assert.equal(decode(body(MAX_TRAILERS + 3).slice(0, -2)).fault, FAULT.longTrailers);
});

test('a bad trailer line is refused before the section ends, and a framing field as soon as its colon is read', () => {
  assert.equal(decode('0\r\nA: b\r\nContent-Length:').fault, FAULT.badTrailer);
  assert.equal(decode('0\r\nA: b\r\nContent-Length').fault, null);
  assert.equal(decode('0\r\nHost: a\r\n').fault, FAULT.badTrailer);
  assert.equal(decode('0\r\nA b').fault, FAULT.badTrailer);
});

/** Processor time (µs) for reading 240,000 bytes of trailers byte by byte, so many of them in each message. */
function costOfTrailers(text: string, length: number): number {
  const bytes = Buffer.from(`0\r\n${text.slice(0, length)}`, 'latin1');
  const before = process.cpuUsage();
  for (let turn = 0; turn < 240_000 / length; turn++) {
    const decoder = new ChunkedDecoder('request');
    for (let at = 0; at < bytes.length; at++) decoder.feed(bytes, at, at + 1, { bodyPiece: () => assert.fail() });
    assert.equal(decoder.fault, null);
  }
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

for (const text of [`A: ${'b'.repeat(8_000)}`, 'b'.repeat(8_000), `B: ${'b'.repeat(120)}\r\n`.repeat(64)])
  test(`trailers that begin with ${JSON.stringify(text.slice(0, 4))} take linear time if they arrive byte by byte`, (t) => {
    costOfTrailers(text, 1_000);
    const [short, long] = [costOfTrailers(text, 1_000), costOfTrailers(text, 8_000)];
    t.diagnostic(`${short} and ${long} µs`);
    // In quadratic time, the long ones would take eight times as long.
    assert.ok(long < 2 * short, `${short} and ${long} µs`);
  });

test('a reset clears all state of the decoder', () => {
  const decoder = new ChunkedDecoder('request');
  const sink = { bodyPiece: () => undefined };
  for (const left of ['3', '3;a="', '3\r\nab', '0\r\nA: b\r\n', 'x', '0\r\nA: b\r\n\r\n']) {
    decoder.feed(Buffer.from(left), 0, left.length, sink);
    decoder.reset();
    assert.equal(decoder.feed(Buffer.from('1\r\nx\r\n0\r\n\r\n'), 0, 11, sink), 11);
    assert.deepEqual([decoder.done, decoder.fault, decoder.trailers], [true, null, ''], left);
    decoder.reset();
  }
});

/** The ranges of `text` that a sink receives, and their contents. */
function pieces(text: string): string[] {
  const decoder = new ChunkedDecoder('request');
  const got: string[] = [];
  const bytes = Buffer.from(text, 'latin1');
  decoder.feed(bytes, 0, bytes.length, { bodyPiece: (buffer, from, to) => got.push(buffer.toString('latin1', from, to)) });
  assert.equal(decoder.fault, null);
  assert.equal(decoder.framing, text.length - got.join('').length);
  return got;
}

test('input read at once is passed on as one piece, however many chunks it has', () => {
  assert.deepEqual(pieces('1\r\na\r\n2;x=y\r\nbc\r\n003\r\ndef\r\n12\r\n123456789012345678\r\n0\r\n\r\n'), ['abcdef123456789012345678']);
  assert.deepEqual(pieces('1\r\na\r\n5\r\nbcd'), ['abcd']);
});

test('a large chunk is passed on together with the small ones after it', () => {
  const [large, another] = ['L'.repeat(5_000), 'M'.repeat(5_000)];
  assert.deepEqual(pieces(`1\r\na\r\n1\r\nb\r\n1388\r\n${large}\r\n1\r\nc\r\n1388\r\n${another}\r\n1\r\nd\r\n`), [
    'ab',
    `${large}c`,
    `${another}d`,
  ]);
});

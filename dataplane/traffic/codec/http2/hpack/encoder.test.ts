import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HpackDecoder } from './decoder.ts';
import { HpackEncoder } from './encoder.ts';
import { FieldCollector } from './testing/decoded.ts';

const OUT = Buffer.alloc(65_536);

/** An encoder with the decoder of its peer. */
class Pair {
  readonly encoder = new HpackEncoder();
  readonly decoder = new HpackDecoder(4_096);

  /** Encodes a block. @returns its bytes in hexadecimal and its fields. */
  block(write: (encoder: HpackEncoder, out: Buffer, at: number) => number): readonly [hex: string, ...lines: string[]] {
    const end = write(this.encoder, OUT, this.encoder.begin(OUT, 0));
    const fields = new FieldCollector().decode(this.decoder, OUT.subarray(0, end));
    assert.ok(fields !== null, 'the block is malformed');
    return [OUT.toString('hex', 0, end), ...fields.map(({ name, value }) => `${name}: ${value}`)];
  }

  lines(lines: string): readonly [hex: string, ...lines: string[]] {
    return this.block((encoder, out, at) => encoder.lines(out, at, lines));
  }

  field(name: string, value: string): readonly [hex: string, ...lines: string[]] {
    return this.block((encoder, out, at) => encoder.field(out, at, name, value));
  }

  status(status: number): readonly [hex: string, ...lines: string[]] {
    return this.block((encoder, out, at) => encoder.status(out, at, status));
  }
}

test('a repeated line takes one byte, also in another spelling', () => {
  const pair = new Pair();
  assert.deepEqual(pair.lines('Content-Type: text/html\r\n').slice(1), ['content-type: text/html']);
  for (const line of ['Content-Type: text/html', 'content-type: text/html', 'CONTENT-TYPE:\t text/html '])
    assert.deepEqual(pair.lines(`${line}\r\n`), ['be', 'content-type: text/html']);
  assert.deepEqual(pair.field('content-type', 'text/html'), ['be', 'content-type: text/html']);
});

test('lines are found in any order, and among others that are not indexed', () => {
  const pair = new Pair();
  const lines = ['Server: a', 'Vary: b', 'Date: c', 'Content-Type: d', 'ETag: "e"', 'Set-Cookie: f'];
  for (let round = 0; round < 40; round++) {
    const sent = lines.filter((_, at) => ((round * 7) >> at) % 2 === 0);
    if (round % 3 === 0) sent.reverse();
    if (round % 10 === 9) for (let number = 0; number < 70; number++) sent.push(`Vary: ${round} ${number}`);
    const [, ...received] = pair.lines(sent.map((line) => `${line}\r\n`).join(''));
    assert.deepEqual(
      received,
      sent.map((line) => line.replace(/^[^:]+/, (name) => name.toLowerCase())),
    );
  }
});

test('a line without an end is an error of the caller', () => {
  assert.throws(() => new Pair().lines('Server: a'), RangeError);
});

test('lines become fields in order, without those of the connection', () => {
  const lines = `Set-Cookie: a=1\r\nConnection: close\r\nKeep-Alive: x\r\nProxy-Connection: x\r\nTransfer-Encoding: chunked\r\nUpgrade: x
HTTP2-Settings: x\r\nTE: trailers\r\nContent-Length: 5\r\nX-A:\r\nset-cookie:\t b=2 \r\nX-B: \xa0\xe9\r\n`.replaceAll(/\r?\n/g, '\r\n');
  assert.deepEqual(new Pair().lines(lines).slice(1), ['set-cookie: a=1', 'x-a: ', 'set-cookie: b=2', 'x-b: \xa0\xe9']);
  assert.deepEqual(new Pair().lines(''), ['']);
});

test('a single field may be one that lines leave out', () => {
  assert.deepEqual(new Pair().field('content-length', '5').slice(1), ['content-length: 5']);
  assert.deepEqual(new Pair().field('te', 'trailers').slice(1), ['te: trailers']);
});

test('statuses of the static table take a byte, and so do others the second time', () => {
  const pair = new Pair();
  for (const [status, hex] of [
    [200, '88'],
    [204, '89'],
    [206, '8a'],
    [304, '8b'],
    [400, '8c'],
    [404, '8d'],
    [500, '8e'],
  ] as const)
    assert.deepEqual(pair.status(status), [hex, `:status: ${status}`]);
  for (const status of [100, 302, 503, 999]) {
    assert.deepEqual(pair.status(status).slice(1), [`:status: ${status}`]);
    assert.deepEqual(pair.status(status), ['be', `:status: ${status}`]);
  }
});

test('fields of the static table take a byte', () => {
  const pair = new Pair();
  for (const [name, value, hex] of [
    [':method', 'GET', '82'],
    [':method', 'POST', '83'],
    [':path', '/', '84'],
    [':scheme', 'https', '87'],
    ['accept-encoding', 'gzip, deflate', '90'],
  ] as const)
    assert.deepEqual(pair.field(name, value), [hex, `${name}: ${value}`]);
});

test('fields that differ from message to message are not indexed', () => {
  const pair = new Pair();
  for (const line of ['ETag: "1"', 'Last-Modified: x', 'Location: /', 'X-Request-ID: 1', 'Age: 1', 'Expires: 0', 'traceparent: 00'])
    for (let times = 0; times < 3; times++) assert.match(pair.lines(`${line}\r\n`)[0], /^0/, line);
  for (let times = 0; times < 3; times++) assert.match(pair.field(':path', '/a')[0], /^0/);
});

test('secret fields are never indexed, by us or by others (RFC 7541 7.1.3)', () => {
  const pair = new Pair();
  for (const line of ['Authorization: a', 'Proxy-Authorization: a', 'Cookie: a', 'Set-Cookie: a', 'X-API-Key: a', 'X-Auth-Token: a'])
    for (let times = 0; times < 3; times++) assert.match(pair.lines(`${line}\r\n`)[0], /^1/, line);
});

test('a line of an unknown name is indexed when it occurs again', () => {
  const pair = new Pair();
  const line = 'X-Served-By: cache-of-the-encoder-test\r\n';
  assert.match(pair.lines(line)[0], /^00/);
  assert.match(pair.lines(line)[0], /^40/);
  assert.equal(pair.lines(line)[0], 'be');
});

test('indexed fields are in Huffman code where that is shorter, and literals are sent unencoded', () => {
  const pair = new Pair();
  assert.equal(pair.lines('Cache-Control: no-cache\r\n')[0], '5886a8eb10649cbf');
  assert.equal(pair.lines('Server: \\{}\r\n')[0], '7603 5c7b7d'.replace(' ', ''));
  assert.equal(pair.lines('Location: /aaaaaaa\r\n')[0], '0f1f08 2f61616161616161'.replace(' ', ''));
});

test('an entry that would evict most of the table is not indexed', () => {
  const pair = new Pair();
  for (const length of [3_000, 3_100]) {
    const line = `Vary: ${'x'.repeat(length)}\r\n`;
    pair.lines(line);
    assert.equal(pair.lines(line)[0].length === 2, length === 3_000);
  }
});

test('entries that the peer has evicted are sent again', () => {
  const pair = new Pair();
  for (let round = 0; round < 3; round++)
    for (let number = 0; number < 100; number++) {
      const line = `Content-Type: text/x-${number}`;
      assert.deepEqual(pair.lines(`${line}\r\n${line}\r\n`).slice(1), [line.toLowerCase(), line.toLowerCase()]);
    }
});

test('a smaller table of the peer is acknowledged at the beginning of the next block (RFC 7541 4.2)', () => {
  const pair = new Pair();
  pair.status(302);
  pair.encoder.limitTable(0);
  assert.match(pair.status(302)[0], /^20/);
  assert.match(pair.status(302)[0], /^08/, 'nothing fits a table without room');
  pair.encoder.limitTable(100);
  assert.match(pair.status(302)[0], /^3f4548/);
  assert.equal(pair.status(302)[0], 'be');
});

test('a table that was smaller in between is emptied, and the peer gets both sizes (RFC 7541 4.2)', () => {
  const pair = new Pair();
  pair.status(302);
  pair.encoder.limitTable(10);
  pair.encoder.limitTable(65_536);
  assert.match(pair.status(302)[0], /^2a3fe11f48/);
  assert.equal(pair.status(302)[0], 'be');
});

test('a larger table is not used, and a size that stays is not announced', () => {
  const pair = new Pair();
  pair.encoder.limitTable(65_536);
  assert.equal(pair.status(200)[0], '88');
  pair.encoder.limitTable(4_096);
  assert.equal(pair.status(200)[0], '88');
});

test('no block is longer than maxBytes says', () => {
  const longest = (length: number): string => '\x01'.repeat(length);
  for (const length of [0, 1, 126, 127, 128, 254, 255, 4_000]) {
    const encoder = new HpackEncoder();
    encoder.limitTable(1_000);
    encoder.limitTable(4_096);
    const name = 'x'.repeat(Math.max(1, length));
    const lines = `${name}: ${longest(length)}\r\n`.repeat(3);
    let end = encoder.lines(OUT, encoder.status(OUT, encoder.begin(OUT, 0), 302), lines);
    for (let more = 0; more < 3; more++) end = encoder.field(OUT, end, `${name}yy`, longest(length));
    assert.ok(end <= HpackEncoder.maxBytes(lines.length + 3 * (name.length + 2 + length)), `${length}: ${end}`);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FieldLines, HpackDecoder, ODDITY } from './decoder.ts';
import { CODE_BITS } from './huffman-code.ts';
import { encodeHuffman, huffmanLength } from './huffman-encoder.ts';
import { FieldCollector, linesOf } from './testing/decoded.ts';

const ERRORS: readonly [what: string, hex: string][] = [
  ['index 0 (6.1)', '80'],
  ['an index beyond the static table while the dynamic one is empty (2.3.3)', 'be'],
  ['an index far beyond the tables', 'ff ffff ff7f'],
  ['the name of an index beyond the tables', '7f 00 00'],
  ['an index that ends within the integer (5.1)', 'ff'],
  ['an index that never ends', 'ff 8080 8080 8080'],
  ['an integer with more bytes than any valid one needs', 'ff 8080 8080 8000'],
  ['an integer that a 32-bit number cannot hold', 'ff ffff ffff 0f'],
  ['a literal without a name', '40'],
  ['a literal without a value', '40 01 61'],
  ['a name that is longer than the block', '40 02 61'],
  ['a value that is longer than the block', '40 01 61 03 6262'],
  ['a length that ends within the integer', '40 01 61 7f'],
  ['a length of 2^28 bytes', '40 7f 81ff ff7f 61'],
  ['padding that is not of ones (5.2)', '40 01 61 81 18'],
  ['padding of eight ones (5.2)', '40 01 61 82 1fff'],
  ['padding alone', '40 01 61 81 ff'],
  ['EOS in a string (5.2)', '40 01 61 84 ffff ffff'],
  ['a symbol that ends too early (5.2)', '40 01 61 81 fe'],
  ['a size above our limit (6.3)', '3fe2 1f'],
  ['a size that ends within the integer', '3f'],
  ['a size after a field (4.2)', '82 20'],
];
for (const [what, hex] of ERRORS) test(`${what} is a compression error`, () => assert.equal(linesOf(new HpackDecoder(4_096), hex), null));

test('an empty block is a list without fields', () => assert.deepEqual(linesOf(new HpackDecoder(4_096), ''), []));

test('integers may have superfluous zeros, as long as five bytes hold them', () => {
  assert.deepEqual(linesOf(new HpackDecoder(4_096), '0f 80 80 80 80 00 00'), ['accept-charset: ']);
});

test('several sizes may begin a block, and a block may consist of them', () => {
  assert.deepEqual(linesOf(new HpackDecoder(4_096), '20 3f e1 1f 21 82'), [':method: GET']);
  assert.deepEqual(linesOf(new HpackDecoder(4_096), '20'), []);
});

test('a table larger than 4,096 bytes begins with that size and grows when the peer says so', () => {
  const decoder = new HpackDecoder(65_536);
  const long = Buffer.alloc(5_000, 'v').toString('hex');
  const insertion = `40 01 61 7f 89 26 ${long}`;
  linesOf(decoder, insertion);
  assert.equal(linesOf(decoder, 'be'), null);
  linesOf(decoder, `3f e1 ff 03 ${insertion}`);
  assert.deepEqual(linesOf(decoder, 'be'), [`a: ${'v'.repeat(5_000)}`]);
});

for (const bytes of [0, 4_095, 65_537])
  test(`a table of ${bytes} bytes is refused`, () => assert.throws(() => new HpackDecoder(bytes), RangeError));

test('an entry counts 32 bytes more than its name and value, and the oldest is evicted (4.1, 4.4)', () => {
  const decoder = new HpackDecoder(4_096);
  // Two entries of 34 bytes fit 68 bytes.
  assert.deepEqual(linesOf(decoder, '3f25 40 0161 0131 40 0162 0132 bf be'), ['a: 1', 'b: 2', 'a: 1', 'b: 2']);
  assert.deepEqual(linesOf(decoder, '40 0163 0133 bf be'), ['c: 3', 'b: 2', 'c: 3']);
  assert.equal(linesOf(decoder, 'c0'), null);
});

test('an entry that is larger than the table empties it, and is a field nevertheless (4.4)', () => {
  const decoder = new HpackDecoder(4_096);
  assert.deepEqual(linesOf(decoder, '3f02 40 0161 00'), ['a: ']);
  assert.deepEqual(linesOf(decoder, '40 0161 0131'), ['a: 1']);
  assert.deepEqual(linesOf(decoder, 'be'), null);
});

test('a smaller table evicts entries at once (4.3)', () => {
  const decoder = new HpackDecoder(4_096);
  linesOf(decoder, '40 0161 0131 40 0162 0132');
  assert.deepEqual(linesOf(decoder, '3f03 be'), ['b: 2']);
  assert.equal(linesOf(decoder, 'bf'), null);
});

test('an entry can lend its name to the entry that evicts it (4.4)', () => {
  const decoder = new HpackDecoder(4_096);
  linesOf(decoder, '3f04 40 0361 6263 00');
  assert.deepEqual(linesOf(decoder, '7e 00 be'), ['abc: ', 'abc: ']);
});

test('thousands of insertions of all lengths leave the newest entries as they were', () => {
  for (const tableBytes of [4_096, 16_384]) {
    const decoder = new HpackDecoder(tableBytes);
    const collector = new FieldCollector();
    const grow = Buffer.from('3fe17f'.replace('7f', tableBytes === 4_096 ? '1f' : '7f'), 'hex');
    assert.notEqual(collector.decode(decoder, grow), null);
    for (let round = 0; round < 4_000; round++) {
      const value = String(round).repeat(round % 30);
      const block = Buffer.concat([Buffer.from([0x40, 1, 0x61, ...lengthOf(value)]), Buffer.from(value), Buffer.from([0xbe])]);
      assert.deepEqual(
        collector.decode(decoder, block)?.map((field) => field.value),
        [value, value],
      );
    }
  }
});

/** A string's length as an integer with a prefix of seven bits (RFC 7541 5.1). */
const lengthOf = ({ length }: string): number[] => (length < 127 ? [length] : [127, (length - 127) & 127, 0]);

test('each symbol has the code that RFC 7541 B gives it', () => {
  const bits = [...CODE_BITS].reduce((sum, one) => sum + 2 ** (30 - one), 0);
  assert.equal(bits, 2 ** 30);
  for (let symbol = 0; symbol < 256; symbol++) {
    const text = `${String.fromCharCode(symbol).repeat(1 + (symbol % 5))}a`;
    const coded = Buffer.alloc(huffmanLength(text));
    assert.equal(encodeHuffman(text, coded, 0), coded.length);
    const block = Buffer.concat([Buffer.from([0, 1, 0x61, 0x80 | coded.length]), coded]);
    assert.equal(new FieldCollector().decode(new HpackDecoder(4_096), block)?.[0]?.value, text);
  }
});

const { name: NAME, value: VALUE } = ODDITY;
const ODDITIES: readonly [name: string, value: string, oddities: number][] = [
  ['a', '', 0],
  ["!#$%&'*+-.^_`|~09az", 'b', 0],
  [':a', 'b', 0],
  ['', 'b', NAME],
  [':', 'b', NAME],
  ['::a', 'b', NAME],
  ['a:', 'b', NAME],
  ['A', 'b', NAME],
  ['a b', 'b', NAME],
  ['a\r', 'b', NAME],
  ['\xe9', 'b', NAME],
  ['a', 'b c\td \xe9\xff', 0],
  ['a', ' b', VALUE],
  ['a', 'b ', VALUE],
  ['a', '\tb', VALUE],
  ['a', 'b\t', VALUE],
  ['a', ' ', VALUE],
  ['a', '\0', VALUE],
  ['a', 'b\rc', VALUE],
  ['a', 'b\nc', VALUE],
  ['a', 'b\x1fc', VALUE],
  ['a', 'b\x7fc', VALUE],
  ['A', '\n', NAME | VALUE],
];
for (const [name, value, oddities] of ODDITIES)
  test(`${JSON.stringify(`${name}: ${value}`)} has the oddities ${oddities}, also when it is indexed`, () => {
    const literal = Buffer.from(`\x40${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}\xbe`, 'latin1');
    const field = { name, value, known: 0, oddities };
    assert.deepEqual(new FieldCollector().decode(new HpackDecoder(4_096), literal), [field, field]);
  });

test('an odd name stays odd with another value', () => {
  const block = Buffer.from('40 01 41 01 20 7e 01 62'.replaceAll(' ', ''), 'hex');
  const fields = new FieldCollector().decode(new HpackDecoder(4_096), block);
  assert.deepEqual(
    fields?.map(({ oddities }) => oddities),
    [NAME | VALUE, NAME],
  );
});

test('a name of the static table is decoded to its first index, however it was encoded', () => {
  const known = (hex: string): number[] | undefined =>
    new FieldCollector().decode(new HpackDecoder(4_096), Buffer.from(hex.replaceAll(' ', ''), 'hex'))?.map((field) => field.known);
  assert.deepEqual(known('85 44 01 61 be 45 01 61 40 05 3a70617468 01 62 be 00 06 636f6f6b6965 00'), [4, 4, 4, 4, 4, 4, 32]);
  assert.deepEqual(known('40 06 636f6f6b6964 00 be 40 01 63 00'), [0, 0, 0]);
});

test('a list that is too large ends early, and the table changes nevertheless', () => {
  const decoder = new HpackDecoder(4_096);
  // Each field counts 34 bytes.
  assert.deepEqual(linesOf(decoder, '40 0161 0131 40 0162 0132 40 0163 0133 be 82', 34 + 34 + 33), ['a: 1', 'b: 2']);
  assert.equal(decoder.tooLarge, true);
  assert.deepEqual(linesOf(decoder, 'be bf c0', 3 * 34), ['c: 3', 'b: 2', 'a: 1']);
  assert.equal(decoder.tooLarge, false);
});

test('fields beyond the limit leave no bytes behind', () => {
  const decoder = new HpackDecoder(4_096);
  const collector = new FieldCollector();
  collector.decode(decoder, Buffer.from('82400161013182', 'hex'), 50);
  assert.equal(collector.lines.bytes.toString('latin1', 0, collector.lines.length), ':method: GET\r\n');
});

test('a list that exceeds the limit by more than 1 MiB ends the connection', () => {
  const decoder = new HpackDecoder(4_096);
  const name = Buffer.alloc(4_000, 'n').toString('hex');
  assert.notEqual(linesOf(decoder, `40 7f a1 1e ${name} 00`, 65_536), null);
  assert.notEqual(linesOf(decoder, '7e00'.repeat(260), 65_536), null);
  assert.equal(decoder.tooLarge, true);
  assert.equal(linesOf(decoder, '7e00'.repeat(290), 65_536), null);
});

test('the sink may drop a field, and the table has it nevertheless', () => {
  const decoder = new HpackDecoder(4_096);
  const lines = new FieldLines();
  const block = Buffer.from('82400161013182be', 'hex');
  const kept = decoder.decode(block, 0, block.length, lines, 1_000, {
    field: (own, start, _colon, _end, known) => {
      if (known === 0) own.length = start;
    },
  });
  assert.equal(kept, true);
  assert.equal(lines.bytes.toString('latin1', 0, lines.length), ':method: GET\r\n:method: GET\r\n');
  assert.deepEqual(linesOf(decoder, 'be'), ['a: 1']);
});

test('only the given part of the buffer is a block', () => {
  const lines = new FieldLines();
  assert.equal(new HpackDecoder(4_096).decode(Buffer.from('80828680', 'hex'), 1, 3, lines, 1_000, new FieldCollector()), true);
  assert.equal(new HpackDecoder(4_096).decode(Buffer.from('80400161', 'hex'), 1, 3, lines, 1_000, new FieldCollector()), false);
});

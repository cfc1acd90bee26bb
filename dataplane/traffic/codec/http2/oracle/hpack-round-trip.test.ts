import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field } from '../../../testing/http2/frames.ts';
import { inputsOf } from '../../http1/oracle/testing/differential.ts';
import type { SampleRandom } from '../../http1/oracle/testing/sample-random.ts';
import { HpackDecoder } from '../hpack/decoder.ts';
import { HpackEncoder } from '../hpack/encoder.ts';
import { FieldCollector } from '../hpack/testing/decoded.ts';
import { informational, Nghttp2Client } from './testing/nghttp2-client.ts';
import { SampleLists } from './testing/sample-fields.ts';

const LISTS = 5_000;
const OUT = Buffer.alloc(1_048_576);

const inUpperCase = (name: string): string => name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());

/** The list in any mixture of single fields and field lines in any spelling. @returns the end of the block, without its beginning. */
function encode(encoder: HpackEncoder, start: number, fields: readonly Field[], random: SampleRandom): number {
  const characters = fields.reduce((sum, [name, value]) => sum + name.length + value.length + 6, 0);
  let at = start;
  let lines = '';
  for (const [name, value] of fields) {
    if (random.once(3)) {
      at = encoder.field(OUT, encoder.lines(OUT, at, lines), name, value);
      lines = '';
    } else lines += `${random.once(4) ? inUpperCase(name) : name}:${random.once(8) ? '\t ' : ' '}${value}\r\n`;
  }
  at = encoder.lines(OUT, at, lines);
  assert.ok(at <= HpackEncoder.maxBytes(characters), 'the block is longer than maxBytes');
  return at;
}

const decoded = (collector: FieldCollector, decoder: HpackDecoder, block: Buffer): Field[] | undefined =>
  collector.decode(decoder, block)?.map(({ name, value }): Field => [name, value]);

test('nghttp2 and we decode what we encode, with any table that nghttp2 offers', async (t) => {
  using client = new Nghttp2Client();
  const encoder = new HpackEncoder();
  const decoder = new HpackDecoder(65_536);
  const collector = new FieldCollector();
  const lists = new SampleLists();
  client.onTableSize = (bytes) => encoder.limitTable(bytes);
  let indexed = 0;
  for (const { random, failed } of inputsOf(t, LISTS)) {
    try {
      while (random.once(20)) await client.offerTable(random.once(3) ? random.below(200) : random.below(8_192));
      const fields = lists.next(random);
      const start = encoder.begin(OUT, 0);
      const end = encode(encoder, start, fields, random);
      assert.deepEqual(decoded(collector, decoder, OUT.subarray(0, end)), fields);
      assert.deepEqual(await client.decode(informational(OUT.subarray(0, start), OUT.subarray(start, end))), fields);
      if (end - start < 2 * fields.length) indexed++;
    } catch (error) {
      throw failed(error);
    }
  }
  t.diagnostic(`${indexed} blocks with little but indexed fields`);
  assert.ok(indexed > 0, 'no list is repeated');
});

test('we decode what nghttp2 encodes, with any table that it may use', async (t) => {
  using client = new Nghttp2Client();
  const decoder = new HpackDecoder(65_536);
  const collector = new FieldCollector();
  const lists = new SampleLists();
  for (const { random, failed } of inputsOf(t, LISTS)) {
    try {
      while (random.once(20)) await client.limitTable(random.once(3) ? random.below(200) : random.below(65_536));
      const fields = [...new Map(lists.next(random))];
      const secret = fields.map(([name]) => name).filter(() => random.once(4));
      const theirs = decoded(collector, decoder, await client.encode(fields, secret));
      assert.deepEqual(
        theirs?.filter(([name]) => !name.startsWith(':')),
        fields,
      );
    } catch (error) {
      throw failed(error);
    }
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field } from '../../../testing/http2/frames.ts';
import { inputsOf } from '../../http1/oracle/testing/differential.ts';
import type { SampleRandom } from '../../http1/oracle/testing/sample-random.ts';
import { HpackDecoder } from '../hpack/decoder.ts';
import { FieldCollector } from '../hpack/testing/decoded.ts';
import { informational, Nghttp2Client } from './testing/nghttp2-client.ts';
import { type SampleBlock, SampleBlocks } from './testing/sample-blocks.ts';

const BLOCKS = 6_000;

/** One decoder of either, which get the same blocks until one of them ends the connection. */
class Differential {
  readonly client = new Nghttp2Client();
  private readonly decoder = new HpackDecoder(4_096);
  private readonly collector = new FieldCollector();
  /** How many blocks both read alike, called part of a malformed message, and refused. */
  readonly counts: { alike: number; malformed: number; refused: number };

  constructor(counts: Differential['counts']) {
    this.counts = counts;
  }

  /** @returns whether the connection continues. */
  async check({ sizes, fields }: SampleBlock): Promise<boolean> {
    const block = informational(sizes, fields);
    const ours = this.collector.decode(this.decoder, block);
    const theirs = await this.client.decode(block);
    const input = block.toString('hex');
    if (ours === null || theirs === 'compression error') {
      assert.deepEqual([ours, theirs], [null, 'compression error'], input);
      this.counts.refused++;
      return false;
    }
    if (theirs === 'malformed message') this.counts.malformed++;
    else if (theirs !== 'long list') {
      // nghttp2 leaves out the fields that we report as odd.
      const [, ...fieldsOfOurs] = ours;
      const regular = fieldsOfOurs.filter(({ oddities }) => oddities === 0).map(({ name, value }): Field => [name, value]);
      assert.deepEqual(regular, theirs, input);
      this.counts.alike++;
    }
    return true;
  }

  [Symbol.dispose](): void {
    this.client[Symbol.dispose]();
  }
}

test('nghttp2 accepts the blocks that we accept, and reads the same fields in them', async (t) => {
  const counts = { alike: 0, malformed: 0, refused: 0 };
  let current: SampleRandom | null = null;
  const random = (): SampleRandom => {
    assert.ok(current !== null);
    return current;
  };
  let differential = new Differential(counts);
  let blocks = new SampleBlocks(random);
  for (const input of inputsOf(t, BLOCKS)) {
    current = input.random;
    try {
      if (await differential.check(blocks.next())) continue;
      differential[Symbol.dispose]();
      differential = new Differential(counts);
      blocks = new SampleBlocks(random);
    } catch (error) {
      throw input.failed(error);
    }
  }
  differential[Symbol.dispose]();
  t.diagnostic(`${counts.alike} read alike, ${counts.malformed} in malformed messages, ${counts.refused} refused`);
  assert.ok(counts.alike > counts.refused && counts.refused > counts.alike / 50, 'the inputs are unbalanced');
});

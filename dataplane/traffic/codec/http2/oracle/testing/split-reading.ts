import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { inputsOf } from '../../../http1/oracle/testing/differential.ts';
import { randomCuts } from '../../../http1/oracle/testing/sample-mutation.ts';
import type { SampleRandom } from '../../../http1/oracle/testing/sample-random.ts';
import type { ConnectionReading } from './connection-reading.ts';

/** A random connection, and how a new session of ours reads its bytes if they are split at these places. */
export type SplitSample = {
  readonly bytes: Buffer;
  readonly read: (cuts: readonly number[]) => ConnectionReading<unknown>;
};

/** What must not depend on where the bytes were split. */
const essence = ({ messages, resets, gone, over }: ConnectionReading<unknown>): unknown => [[...messages], [...resets], gone, over];

/** Asserts that `count` random connections are read alike if they are split at random places. */
export async function splitAnywhere(t: TestContext, count: number, sample: (random: SampleRandom) => SplitSample): Promise<void> {
  for (const { random, failed } of inputsOf(t, count)) {
    const { bytes, read } = sample(random);
    await readsAlike(bytes, read, [randomCuts(bytes.length, random)]).catch((error: unknown) => {
      throw failed(error);
    });
  }
}

/** Asserts that `count` random connections are read alike if they are split once at any place, and into single bytes. */
export async function splitEverywhere(t: TestContext, count: number, sample: (random: SampleRandom) => SplitSample): Promise<void> {
  for (const { random, failed } of inputsOf(t, count)) {
    const { bytes, read } = sample(random);
    const places = [...bytes.keys()];
    await readsAlike(bytes, read, [...places.slice(1).map((cut) => [cut]), places]).catch((error: unknown) => {
      throw failed(error);
    });
  }
}

async function readsAlike(bytes: Buffer, read: SplitSample['read'], splits: readonly (readonly number[])[]): Promise<void> {
  const whole = essence(read([]));
  for (const cuts of splits) {
    const cut = essence(read(cuts));
    if (!isDeepStrictEqual(cut, whole)) assert.deepEqual(cut, whole, `cut at ${cuts}: ${bytes.toString('hex')}`);
  }
  // The turns that the sessions have scheduled.
  await new Promise(setImmediate);
}

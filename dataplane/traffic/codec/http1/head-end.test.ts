import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headEnd } from './head-end.ts';

/** Bytes that are mostly those of an empty line, from a generator with a fixed seed. */
function* buffers(count: number): Generator<Buffer> {
  let seed = 1;
  const next = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >>> 8) % below;
  };
  for (let made = 0; made < count; made++) {
    const filler = next(3) === 0 ? next(1_100) : 0;
    const tail = Array.from({ length: next(40) }, () => '\r\nx'[next(3)] ?? '').join('');
    yield Buffer.from('y'.repeat(filler) + tail + 'z'.repeat(next(3) * 300));
  }
}

test('the first empty line is found wherever it is and wherever the search begins', () => {
  for (const buffer of buffers(50_000))
    for (const from of [0, 1, 5, Math.max(0, buffer.length - 4), buffer.length]) {
      assert.equal(headEnd(buffer, from), buffer.indexOf('\r\n\r\n', from), JSON.stringify([buffer.toString(), from]));
    }
});

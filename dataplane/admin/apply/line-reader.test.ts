import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_LINE_BYTES } from '../../../shared/wire/apply.ts';
import { ApiError } from '../http/errors.ts';
import { LineReader } from './line-reader.ts';

const read = (...chunks: Buffer[]): string[] => {
  const reader = new LineReader();
  return [...chunks.flatMap((chunk) => [...reader.feed(chunk)]), reader.rest()];
};

describe('the line reader', () => {
  const whole = Buffer.from('{"a":"ümläut 𝄞"}\n\n{"b":1}\r\n  \nlast');
  const lines = ['{"a":"ümläut 𝄞"}', '', '{"b":1}', '', 'last'];

  it('returns the same lines wherever the bytes are split, even inside a character', () => {
    for (let first = 0; first <= whole.length; first++)
      for (let second = first; second <= whole.length; second++)
        assert.deepEqual(read(whole.subarray(0, first), whole.subarray(first, second), whole.subarray(second)), lines);
  });

  it('returns the same lines when it reads byte by byte', () =>
    assert.deepEqual(read(...[...whole].map((byte) => Buffer.of(byte))), lines));

  it('rejects a line longer than 32 MB, even before its end arrives', () => {
    const most = Buffer.alloc(MAX_LINE_BYTES, 'x');
    const end = Buffer.from('\n');
    assert.deepEqual(read(most, end), [`${most}`, '']);
    assert.deepEqual(read(Buffer.concat([most, end])), [`${most}`, '']);
    const more = Buffer.from('x');
    for (const chunks of [[most, more], [most, more, end], [Buffer.concat([most, more, end])]])
      assert.throws(
        () => read(...chunks),
        (error) => error instanceof ApiError && /longer than 32 MB/.test(error.message),
      );
  });

  it('rejects a line that is not UTF-8', () => {
    for (const bytes of ['ff', 'c3', 'eda080', 'c080'])
      assert.throws(
        () => read(Buffer.from(`${bytes}0a`, 'hex')),
        (error) => error instanceof ApiError && /not UTF-8/.test(error.message),
      );
    assert.throws(() => read(Buffer.from('c3', 'hex')), ApiError);
  });
});

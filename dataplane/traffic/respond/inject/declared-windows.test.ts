import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { BrotliWindows, ZstdWindows } from './declared-windows.ts';

const { BROTLI_PARAM_LGWIN, ZSTD_c_checksumFlag } = zlib.constants;

/** A whole frame of zstd; its window if it has one, in the spelling of its header. */
function frame(content: Buffer, window: number | null, checksum = 0): Buffer {
  const whole = zlib.zstdCompressSync(content, { params: { [ZSTD_c_checksumFlag]: checksum } });
  if (window === null) return whole;
  const descriptor = whole[4] as number;
  const header = 5 + ([1, 2, 4, 8][descriptor >> 6] as number);
  return Buffer.concat([whole.subarray(0, 4), Buffer.of(descriptor & 4, window), whole.subarray(header)]);
}

const skippable = (length: number): Buffer => {
  const bytes = Buffer.alloc(8 + length, 0x28);
  bytes.writeUInt32LE(0x184d2a5f);
  bytes.writeUInt32LE(length, 4);
  return bytes;
};

/** What is known after each byte, without repetitions. */
function bytewise(bytes: Buffer): (number | null)[] {
  const windows = new ZstdWindows();
  const known: (number | null)[] = [];
  for (const byte of bytes) {
    const window = windows.read(Buffer.of(byte));
    if (known.length === 0 || known.at(-1) !== window) known.push(window);
  }
  return known;
}

const repeated = Buffer.alloc(300_000, 'a');
const mixed = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * at * 2_654_435_761) >>> 13));

test('the window of Brotli is the one that an encoder was given', () => {
  for (let bits = 16; bits <= 24; bits++)
    assert.equal(new BrotliWindows().read(zlib.brotliCompressSync(repeated, { params: { [BROTLI_PARAM_LGWIN]: bits } })), 2 ** bits);
});

test('the window of a frame of zstd is known with its header, and its content decides without one', () => {
  for (const [content, window] of [
    ['hello', 5],
    [repeated.subarray(0, 255), 255],
    [repeated.subarray(0, 256), 256],
    [repeated.subarray(0, 65_791), 65_791],
    [repeated.subarray(0, 65_792), 65_792],
    [repeated, 300_000],
    [mixed, 300_000],
  ] as const)
    assert.deepEqual(bytewise(frame(Buffer.from(content), null)), [null, window]);
  for (const [spelled, window] of [
    [0x38, 2 ** 17],
    [0x68, 2 ** 23],
    [0x69, 2 ** 23 + 2 ** 20],
    [0xff, 2 ** 41 + 7 * 2 ** 38],
  ] as const)
    assert.deepEqual(bytewise(frame(mixed, spelled)), [null, window]);
  const sized = Buffer.from('28b52ffde000000000000100000100', 'hex');
  assert.deepEqual(bytewise(sized), [null, 2 ** 40]);
});

test('the largest window counts, wherever further frames of zstd begin', () => {
  for (const content of [repeated, mixed, Buffer.alloc(0)])
    for (const checksum of [0, 1]) {
      const small = frame(content.subarray(0, 200_000), 0x38, checksum);
      const large = frame(mixed, 0x68, checksum);
      const single = frame(content.subarray(0, 100_000), null, checksum);
      const pages = Buffer.concat([small, single, skippable(0), skippable(70_000), small, large, small]);
      assert.deepEqual(bytewise(pages), [null, 2 ** 17, 2 ** 23]);
      assert.equal(new ZstdWindows().read(pages), 2 ** 23);
      assert.equal(new ZstdWindows().read(Buffer.concat([small, Buffer.from('no frame'), large])), 2 ** 17);
    }
});

test('what is no frame of zstd declares nothing, nor does one that is skipped, which may come first', () => {
  assert.deepEqual(bytewise(Buffer.from('<!doctype html>')), [null, 0]);
  assert.deepEqual(bytewise(Buffer.concat([skippable(10), frame(mixed, 0x68)])), [null, 2 ** 23]);
  assert.deepEqual(bytewise(Buffer.concat([skippable(5_000), frame(mixed, 0x68)])), [null, 0, 2 ** 23]);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setThreadMemory } from '../../../shared/runtime/thread-memory.ts';
import { RequestBody } from '../client/http1/request-body.ts';
import { UnreadShare } from '../client/http2/unread-share.ts';
import { advance, settle } from '../codec/http2/limits/advance.ts';
import { ReceiveWindow } from '../codec/http2/limits/receive-window.ts';
import { ReadBuffer } from '../io/read-buffer.ts';
import { fill } from '../io/testing/full-reads.ts';
import { EncoderMemory } from '../respond/encode/memory.ts';
import { sampleExchange } from '../testing/samples/sample-exchange.ts';
import { SentBody } from '../upstream/http2/sent-body.ts';

/** What a worker has in a container with 512 MB for two of them. */
const MEMORY = 268_435_456;
const MB = 1_048_576;

function useSmallMemory(t: TestContext): void {
  setThreadMemory(MEMORY);
  t.after(() => setThreadMemory(Number.POSITIVE_INFINITY));
}

test('in a small container, clients have little time to read what they leave unread', (t) => {
  useSmallMemory(t);
  const [others, one] = [new UnreadShare(0), new UnreadShare(0)];
  t.after(() => {
    for (const share of [others, one]) share.count(0);
  });
  const timeLeft = (unread: number): number => {
    others.count(unread);
    one.sweep(0, 0, 0);
    for (let now = 0; now < 60_000; now += 500) if (one.sweep(now, MB, 0) > 0) return now;
    return Number.POSITIVE_INFINITY;
  };
  assert.equal(timeLeft(14 * MB), Number.POSITIVE_INFINITY);
  assert.equal(timeLeft(32 * MB), 1_000);
  assert.equal(timeLeft(64 * MB), 0);
});

test('in a small container, streams keep less beyond the windows of their connections, and windows grow less', (t) => {
  useSmallMemory(t);
  const stream = { advanced: 0 };
  assert.equal(advance(stream, 16 * MB), 16 * MB);
  assert.equal(advance(stream, 1), 0);
  settle(stream, 16 * MB);
  const window = new ReceiveWindow(32 * MB, 128 * MB);
  window.receive(32 * MB);
  assert.equal(window.consume(32 * MB), 48 * MB);
  window.release();
});

test('in a small container, encoders have less memory', (t) => {
  useSmallMemory(t);
  const memory = new EncoderMemory();
  const release = memory.reserve(31 * MB);
  assert.ok(memory.has(MB));
  assert.ok(!memory.has(MB + 1));
  release();
  assert.ok(memory.isFree);
});

test('in a small container, fewer bodies are kept to be sent again', (t) => {
  useSmallMemory(t);
  const bodies = Array.from({ length: 300 }, () => new SentBody());
  const kept = bodies.filter((body) => body.add(Buffer.alloc(65_536)));
  for (const body of bodies) body.drop();
  assert.ok(kept.length <= 256 && kept.length >= 120, `${kept.length}`);
});

test('in a small container, fewer large buffers are used', (t) => {
  useSmallMemory(t);
  const used = Array.from({ length: 40 }, () => new ReadBuffer()).flatMap((buffers) => fill(buffers, 3, false));
  // Those of tests before may not have been collected.
  const { size } = new Set(used.filter(({ length }) => length === 262_144));
  assert.ok(size <= 32 && size > 16, `${size}`);
});

test('in a small container, less is read with a head, and as much of a body as ever', (t) => {
  assert.equal(ReadBuffer.common.length, 65_536);
  useSmallMemory(t);
  assert.equal(ReadBuffer.common.length, 16_384);
  const piece = ReadBuffer.beginning(ReadBuffer.common, 5);
  assert.deepEqual([piece.length, ReadBuffer.isShared(piece)], [5, true]);
  const body = new RequestBody({ pause: () => undefined, discarded: () => undefined });
  assert.equal(body.nextBuffer().length, 16_384);
  const x = sampleExchange({ method: 'POST', target: '/', kept: '', length: 100, chunked: false });
  body.begin(x);
  assert.equal(body.nextBuffer().length, 16_384, 'as long as it waits');
  assert.ok(body.hold(x, () => undefined));
  t.after(() => body.release());
  assert.equal(body.nextBuffer().length, 65_536);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { CODE, FLAG, FRAME, Frames, head, MAX_FRAME, word } from '../../testing/http2/frames.ts';
import { h2c } from '../../testing/http2/upstream.ts';
import { eventually } from '../../testing/proxy/test-proxy.ts';
import { MAX_SENT, SentBody } from './sent-body.ts';

/** What all of them together may keep (bytes of memory). */
const MAX_TOTAL = 67_108_864;
/** What a target accepts on a stream (bytes, RFC 9113 6.9.2). */
const WINDOW = 65_535;
/** More requests than may keep such a body at a time. */
const REQUESTS = Math.floor(MAX_TOTAL / WINDOW) + 100;
/** As many as the windows of a client allow at a time. */
const STEP = 10;

const body = Buffer.alloc(MAX_SENT, 'x');

test('bodies that were sent are kept up to a limit for all of them together, until they are dropped', (t) => {
  const kept: SentBody[] = [];
  t.after(() => {
    for (const one of kept) one.drop();
  });
  for (let room = true; room; ) {
    const one = new SentBody();
    kept.push(one);
    for (let at = 0; at < body.length && room; at += 10_000) room = one.add(body.subarray(at, at + 10_000));
  }
  assert.ok(kept.length * MAX_SENT <= MAX_TOTAL + MAX_SENT, `${kept.length} bodies`);
  assert.ok(kept.length >= MAX_TOTAL / (2 * MAX_SENT), `${kept.length} bodies`);
  const tiny = new SentBody();
  assert.equal(tiny.add(Buffer.from('x')), false);
  tiny.drop();
  for (const one of kept.splice(-2)) one.drop();
  const next = new SentBody();
  kept.push(next);
  assert.equal(next.add(Buffer.from('x')), true);
  assert.equal(next.whole.toString(), 'x');
});

test('short pieces of a long body are copied a few times, not with each further one', (t) => {
  const one = new SentBody();
  t.after(() => one.drop());
  const rooms = new Set<ArrayBufferLike>();
  for (let at = 0; at + 100 <= MAX_SENT; at += 100) {
    assert.ok(one.add(Buffer.from(body.subarray(at, at + 100))));
    rooms.add(one.whole.buffer);
  }
  assert.ok(rooms.size < 12, `${rooms.size} buffers`);
});

test('small bodies take no more of it than the memory that they occupy', (t) => {
  const kept = Array.from({ length: 4_000 }, () => new SentBody());
  t.after(() => {
    for (const one of kept) one.drop();
  });
  assert.ok(kept.every((one) => one.add(Buffer.from('hello'))));
});

const answer = (target: Frames, stream: number) => target.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, Buffer.of(0x89));

test('requests that have been answered keep nothing of the bodies that were sent', async () => {
  let over = false;
  let asked = 0;
  using target = await FrameTargetFixture.serving((connection, stream) => {
    asked++;
    if (asked === 1) connection.send(FRAME.windowUpdate, 0, 0, word(REQUESTS * WINDOW));
    if (!over || target.connections.length > 1) answer(connection, stream);
    else connection.send(FRAME.goAway, 0, 0, Buffer.concat([word(0), word(CODE.none)]));
  });
  using proxy = await h2c(target);
  using client = (await Frames.plain(proxy.port)).greet();
  const post = (stream: number): void => {
    client.request(stream, head([':method', 'POST']), 0);
    for (let at = 0; at < WINDOW; at += MAX_FRAME) client.send(FRAME.data, 0, stream, body.subarray(at, Math.min(at + MAX_FRAME, WINDOW)));
    client.send(FRAME.data, FLAG.endStream, stream);
  };
  client.request(1);
  await client.until('the first response', () => client.of(1, FRAME.headers).length > 0);
  let stream = 3;
  for (let sent = 1 + STEP; sent < REQUESTS; sent += STEP) {
    const last = stream + 2 * STEP;
    for (; stream < last; stream += 2) post(stream);
    await eventually('the responses', () => asked === sent && proxy.ledger.inFlight.total() === 0);
  }
  over = true;
  post(stream);
  await client.until('the response', () => client.of(stream, FRAME.headers).length > 0);
  assert.equal(target.connections.length, 2);
});

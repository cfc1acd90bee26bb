import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { FLAG, FRAME, SETTING } from '../../testing/http2/frames.ts';
import { h2c } from '../../testing/http2/upstream.ts';
import { eventually, get } from '../../testing/proxy/test-proxy.ts';

/** As many connections as are opened to a target. */
const SESSIONS = 8;

test('a request that waits for the place of a cancelled one is sent after the cancellation, or the target would refuse it', async () => {
  let asked = 0;
  using target = await FrameTargetFixture.serving(() => asked++, [SETTING.maxConcurrentStreams, 1]);
  using proxy = await h2c(target);
  const first = await proxy.connect();
  first.send(get());
  for (let nth = 0; nth < SESSIONS; nth++) {
    if (nth > 0) (await proxy.connect()).send(get());
    await eventually('the request', () => asked > nth);
  }
  const next = await proxy.connect();
  next.send(get());
  await eventually('the request to wait', () => proxy.ledger.inFlight.total() > SESSIONS);
  first.reset();
  await eventually('the next request', () => asked > SESSIONS);
  const types = target.connections[0]?.received.map(({ type }) => type).filter((type) => type === FRAME.headers || type === FRAME.reset);
  assert.deepEqual(types, [FRAME.headers, FRAME.reset, FRAME.headers]);
});

test('so is one that waits for the place of a response whose request has not ended', async () => {
  let asked = 0;
  using target = await FrameTargetFixture.serving(() => asked++, [SETTING.maxConcurrentStreams, 1]);
  using proxy = await h2c(target);
  const upload = await proxy.connect();
  upload.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000\r\n\r\nx');
  await eventually('the upload', () => target.connections[0]?.received.some(({ type }) => type === FRAME.headers) === true);
  for (let nth = 1; nth < SESSIONS; nth++) {
    (await proxy.connect()).send(get());
    await eventually('the request', () => asked === nth);
  }
  const next = await proxy.connect();
  next.send(get());
  await eventually('the request to wait', () => proxy.ledger.inFlight.total() > SESSIONS);
  const [first] = target.connections;
  // Status 400 (RFC 7541 appendix A).
  first?.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, Buffer.of(0x8c));
  await eventually('the next request', () => asked === SESSIONS);
  const types = first?.received.map(({ type }) => type).filter((type) => type === FRAME.headers || type === FRAME.reset);
  assert.deepEqual(types, [FRAME.headers, FRAME.reset, FRAME.headers]);
});

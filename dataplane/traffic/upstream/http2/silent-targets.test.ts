import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { FLAG, FRAME } from '../../testing/http2/frames.ts';
import { h2c } from '../../testing/http2/upstream.ts';
import { eventually, whenRead } from '../../testing/proxy/test-proxy.ts';

const FIELDS = 'Content-Type: application/grpc\r\nTE: trailers\r\nContent-Length: 0\r\n';
const CALL = `POST /a.Service/Call HTTP/1.1\r\nHost: a.test\r\n${FIELDS}\r\n`;
const STEP_MS = 5_000;

test('a gRPC call, which has no time limit, fails when its target responds to nothing any more', async () => {
  let calls = 0;
  using target = await FrameTargetFixture.serving((connection) => {
    calls++;
    connection.send(FRAME.settings, FLAG.ack, 0);
  });
  using proxy = await h2c(target);
  const lines: string[] = [];
  const answered = proxy.request(CALL).then(({ line }) => lines.push(line));
  await eventually('the call', () => calls === 1);
  for (let passed = 0; passed < 90_000 && lines.length === 0; passed += STEP_MS) {
    await whenRead();
    proxy.clock.pass(STEP_MS);
  }
  await Promise.race([answered, whenRead()]);
  assert.match(lines.join(), /^HTTP\/1\.1 502 /);
  assert.equal(target.connections[0]?.received.filter(({ type }) => type === FRAME.ping).length, 1);
  assert.equal(calls, 1);
});

test('calls go over another connection when their target responds to nothing any more, also if each client gives up after a while', async () => {
  let calls = 0;
  using target = await FrameTargetFixture.serving((connection) => {
    if (++calls === 1) connection.send(FRAME.settings, FLAG.ack, 0);
  });
  using proxy = await h2c(target);
  for (let nth = 1; target.connections.length < 2; nth++) {
    assert.ok(nth < 13, 'the connection is used for two minutes');
    const client = await proxy.connect();
    client.send(CALL);
    await eventually('the call', () => calls === nth);
    proxy.clock.pass(STEP_MS);
    await whenRead();
    client.reset();
    await eventually('the end of the call', () => proxy.ledger.inFlight.total() === 0);
    proxy.clock.pass(STEP_MS);
    await whenRead();
  }
  assert.equal(target.connections[0]?.received.filter(({ type }) => type === FRAME.ping).length, 1);
});

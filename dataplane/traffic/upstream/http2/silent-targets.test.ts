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

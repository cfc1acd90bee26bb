import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { block, type Field, FLAG, FRAME, frame } from '../../testing/http2/frames.ts';
import { h2c } from '../../testing/http2/upstream.ts';
import { eventually, get } from '../../testing/proxy/test-proxy.ts';

const OK: Field = [':status', '200'];
const POST = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi';
/** What the window of a stream allows (bytes), and in which pieces a target sends it. */
const WINDOW = 262_144;
const PIECE = 1_024;

const head = (stream: number) => frame(FRAME.headers, FLAG.endHeaders, stream, block([OK]));

test('clients that leave before a large response arrives cost the other clients of its target nothing', async () => {
  const asked: number[] = [];
  using target = await FrameTargetFixture.serving((_, stream) => asked.push(stream));
  using proxy = await h2c(target);
  const patient = await proxy.connect();
  patient.send(POST);
  await eventually('the first request', () => asked.length === 1);
  const [connection] = target.connections;
  assert.ok(connection !== undefined);
  for (let nth = 1; nth <= 40; nth++) {
    const leaving = await proxy.connect();
    leaving.send(get('/large'));
    await eventually('the request', () => asked.length > nth);
    leaving.reset();
    const stream = asked[nth] as number;
    await connection.until('its end', () => connection.resetCode(stream) !== undefined);
    // It was under way already.
    connection.write(Buffer.concat([head(stream), ...Array(WINDOW / PIECE).fill(frame(FRAME.data, 0, stream, Buffer.alloc(PIECE)))]));
  }
  connection.write(Buffer.concat([head(1), frame(FRAME.data, FLAG.endStream, 1, 'x')]));
  const answer = await patient.readAnswer();
  assert.deepEqual([answer.line, answer.body], ['HTTP/1.1 200 OK', 'x']);
  assert.equal(connection.goneCode, undefined);
});

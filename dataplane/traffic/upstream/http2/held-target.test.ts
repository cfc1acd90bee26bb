import assert from 'node:assert/strict';
import { test } from 'node:test';
import { advance, settle } from '../../codec/http2/limits/advance.ts';
import { FRAME, type Frame, Frames, head, INITIAL_WINDOW } from '../../testing/http2/frames.ts';
import { Http2UpstreamFixture, h2c } from '../../testing/http2/upstream.ts';
import { eventually, get } from '../../testing/proxy/test-proxy.ts';
import { stillness } from '../../testing/stillness.ts';

/** What all streams of a thread may keep without using up the windows of their connections. */
const KEPT = 134_217_728;
const PIECE = Buffer.alloc(100_000);

test('a target that may send nothing, because clients do not read, is not blamed for the responses to others, which wait', async (t) => {
  using upstream = await Http2UpstreamFixture.serving(({ field, stream }) => {
    stream.respond({ ':status': 200 });
    if (field(':path') !== '/big') return void stream.end('small');
    const pour = (): void => {
      while (stream.write(PIECE));
      stream.once('drain', pour);
    };
    pour();
  });
  using proxy = await h2c(upstream);
  // Streams of other connections keep all that may be kept.
  const others = { advanced: 0 };
  advance(others, KEPT);
  t.after(() => settle(others, KEPT));
  using slow = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  const begun = ({ type }: Frame): boolean => type === FRAME.headers;
  for (let nth = 0; nth < 100; nth++) slow.request(2 * nth + 1, head([':path', '/big']));
  await eventually('the responses to begin', () => slow.received.filter(begun).length === 100);
  await stillness('the target to be paused', () => upstream.sockets.reduce((bytes, socket) => bytes + socket.bytesWritten, 0));
  const client = await proxy.connect();
  client.send(get());
  await client.readHead();
  let seconds = 0;
  await eventually('the rest of the response', () => {
    proxy.clock.pass(1_000);
    return client.unread.endsWith('\r\n0\r\n\r\n') || client.ended || ++seconds > 150;
  });
  assert.equal(client.unread, '5\r\nsmall\r\n0\r\n\r\n');
  assert.deepEqual(proxy.targetChanges(), []);
});

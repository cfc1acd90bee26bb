import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { advance, settle } from '../../codec/http2/limits/advance.ts';
import { FRAME, type Frame, Frames, head, INITIAL_WINDOW } from '../../testing/http2/frames.ts';
import { Http2UpstreamFixture, h2c } from '../../testing/http2/upstream.ts';
import { eventually, get } from '../../testing/proxy/test-proxy.ts';
import { stillness } from '../../testing/stillness.ts';

/** What all streams of a thread may keep without using up the windows of their connections. */
const KEPT = 134_217_728;
const PIECE = Buffer.alloc(100_000);
const UNREAD = 100;

/** A proxy that reads nothing of its only connection to its target, because a client does not read what the target has sent. */
async function held(t: TestContext) {
  const late: (() => void)[] = [];
  const pours: (() => void)[] = [];
  const upstream = await Http2UpstreamFixture.serving(({ field, stream }) => {
    stream.respond({ ':status': 200 });
    if (field(':path') === '/late') return void late.push(() => stream.end('late'));
    if (field(':path') !== '/big') return void stream.end('small');
    const pour = (): void => {
      while (stream.write(PIECE));
      stream.once('drain', pour);
    };
    // What is sent on a connection that is not read holds up heads, too.
    if (pours.push(pour) === UNREAD) for (const start of pours) start();
  });
  t.after(() => upstream[Symbol.dispose]());
  const proxy = await h2c(upstream);
  t.after(() => proxy[Symbol.dispose]());
  // Streams of other connections keep all that may be kept.
  const others = { advanced: 0 };
  advance(others, KEPT);
  t.after(() => settle(others, KEPT));
  const before = await proxy.connect();
  before.send(get('/late'));
  await before.readHead();
  const slow = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  t.after(() => slow[Symbol.dispose]());
  const begun = ({ type }: Frame): boolean => type === FRAME.headers;
  for (let nth = 0; nth < UNREAD; nth++) slow.request(2 * nth + 1, head([':path', '/big']));
  await eventually('the responses to begin', () => slow.received.filter(begun).length === UNREAD);
  await stillness('the target to be paused', () => upstream.sockets.reduce((bytes, socket) => bytes + socket.bytesWritten, 0));
  for (const end of late) end();
  return { upstream, proxy, before };
}

test('a target that may send nothing, because clients do not read, is not blamed for the responses to others, which wait', async (t) => {
  const { proxy, before } = await held(t);
  assert.equal(before.unread, '');
  let seconds = 0;
  await eventually('the rest of the response', () => {
    proxy.clock.pass(1_000);
    return before.unread.endsWith('\r\n0\r\n\r\n') || before.ended || ++seconds > 150;
  });
  assert.equal(before.unread, '4\r\nlate\r\n0\r\n\r\n');
  assert.deepEqual(proxy.targetChanges(), []);
});

test('further requests do not wait for such a connection: they use another', async (t) => {
  const { upstream, proxy } = await held(t);
  assert.equal((await proxy.request(get())).body, 'small');
  assert.equal(upstream.sessions.length, 2);
});

test('others on such a connection wait some seconds: then the responses that are unread for longest give way', async (t) => {
  const { proxy, before } = await held(t);
  let seconds = 0;
  await eventually('the rest of the response', () => {
    proxy.clock.pass(1_000);
    return before.unread.endsWith('\r\n0\r\n\r\n') || before.ended || ++seconds > 30;
  });
  assert.equal(before.unread, '4\r\nlate\r\n0\r\n\r\n');
  assert.equal((await proxy.request(get())).body, 'small');
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HpackDecoder } from '../codec/http2/hpack/decoder.ts';
import { FrameTargetFixture } from '../testing/http2/frame-target.ts';
import { block, FLAG, FRAME, Frames, frame, head } from '../testing/http2/frames.ts';
import { h2c } from '../testing/http2/upstream.ts';
import { ProxyFixture } from '../testing/proxy/test-proxy.ts';

/** Bytes per read. */
const READ = 65_536;
const ENDS = FLAG.endHeaders | FLAG.endStream;
const OK = Buffer.of(0x88);
const EARLY_HINTS = Buffer.concat([Buffer.of(0x08, 3), Buffer.from('103')]);
/** More fields than a request may have, each of one byte: `accept-encoding: gzip, deflate` (RFC 7541 appendix A). */
const MANY_FIELDS = Buffer.alloc(900, 0x80 | 16);

/** Counts the heads that are decoded. @returns a function that returns the most so far in one turn of the event loop. */
function mostInATurn(t: TestContext): () => number {
  const decoded = t.mock.method(HpackDecoder.prototype, 'decode');
  let [most, before, over] = [0, 0, false];
  const turn = (): void => {
    const count = decoded.mock.callCount();
    most = Math.max(most, count - before);
    before = count;
    if (!over) setImmediate(turn);
  };
  setImmediate(turn);
  t.after(() => {
    over = true;
  });
  return () => most;
}

test('heads that a client over HTTP/2 sends are decoded in turns, although few bytes stand for many fields', async (t) => {
  using proxy = await ProxyFixture.start([{ domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body: 'x' } }]);
  using client = await Frames.plain(proxy.port);
  await client.greet().answered();
  const one = Buffer.concat([block(head()), MANY_FIELDS]);
  const heads = Array.from({ length: 1_500 }, (_, nth) => frame(FRAME.headers, ENDS, 2 * nth + 1, one));
  const most = mostInATurn(t);
  client.write(Buffer.concat(heads));
  await client.until('all responses', () => client.of(2 * heads.length - 1, FRAME.headers).length > 0);
  const count = most();
  assert.ok(count <= READ / one.length, `${count} in a turn`);
});

test('heads that a target over HTTP/2 sends are decoded in turns', async (t) => {
  const each = 30;
  const one = Buffer.concat([EARLY_HINTS, Buffer.alloc(900, 0x80 | 46)]);
  using target = await FrameTargetFixture.serving(() => undefined);
  using proxy = await h2c(target);
  using client = await Frames.plain(proxy.port);
  client.greet();
  const streams = Array.from({ length: 50 }, (_, nth) => 2 * nth + 1);
  for (const stream of streams) client.request(stream);
  await client.answered();
  const [connection] = target.connections;
  await connection?.until('the requests', () => streams.every((stream) => connection.of(stream, FRAME.headers).length > 0));
  const most = mostInATurn(t);
  for (const stream of streams) {
    for (let nth = 0; nth < each; nth++) connection?.send(FRAME.headers, FLAG.endHeaders, stream, one);
    connection?.send(FRAME.headers, ENDS, stream, OK);
  }
  await client.until('all responses', () => streams.every((stream) => client.of(stream, FRAME.headers).length > each));
  const count = most();
  assert.ok(count <= READ / one.length + each, `${count} in a turn`);
});

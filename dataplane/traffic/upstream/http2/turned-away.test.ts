import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { CODE, FLAG, FRAME, Frames, INITIAL_WINDOW, word } from '../../testing/http2/frames.ts';
import { Http2UpstreamFixture, h2c } from '../../testing/http2/upstream.ts';
import { eventually, get, type ProxyFixture } from '../../testing/proxy/test-proxy.ts';

/** Status 204 (RFC 7541 appendix A). */
const NO_CONTENT = Buffer.of(0x89);

/** A target that turns the requests on its first connections away, and answers those on the others. */
const turningAway = (connections: number) => {
  const known: Frames[] = [];
  return FrameTargetFixture.serving((connection, stream) => {
    if (!known.includes(connection)) known.push(connection);
    if (known.indexOf(connection) < connections) connection.send(FRAME.reset, 0, stream, word(CODE.calm));
    else connection.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, NO_CONTENT);
  });
};

async function statuses(proxy: ProxyFixture, count: number, text = get()): Promise<string[]> {
  const seen: string[] = [];
  for (let nth = 0; nth < count; nth++) seen.push((await proxy.request(text)).line.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
  return seen;
}

test('a request that a target turns away is sent again over another connection, as are all later ones', async () => {
  using target = await turningAway(1);
  using proxy = await h2c(target);
  assert.deepEqual(await statuses(proxy, 3), ['204', '204', '204']);
  assert.equal(target.connections.length, 2);
  assert.equal(target.connections[0]?.received.filter(({ type }) => type === FRAME.headers).length, 1);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a request that may not be repeated is answered with 503, and later ones use another connection', async () => {
  using target = await turningAway(1);
  using proxy = await h2c(target);
  const post = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n';
  assert.deepEqual(await statuses(proxy, 3, post), ['503', '204', '204']);
});

test('if no other connection can be opened, the one on which requests were turned away is used', async () => {
  using target = await turningAway(1);
  using proxy = await h2c(target);
  const waits = proxy.request(get('/first'));
  await eventually('the connection', () => target.connections.length > 0);
  target.refuse();
  assert.match((await waits).line, / 503 /);
  assert.deepEqual(await statuses(proxy, 2), ['503', '503']);
  assert.equal(target.connections[0]?.received.filter(({ type }) => type === FRAME.headers).length, 6);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a target that turns all requests away gets no more connections than usual', async () => {
  using target = await turningAway(100);
  using proxy = await h2c(target);
  assert.deepEqual(await statuses(proxy, 20), Array(20).fill('503'));
  assert.equal(target.connections.length, 8);
});

test('a client that does not read large responses of a Node server keeps nobody else from it', async () => {
  const large = 14;
  using upstream = await Http2UpstreamFixture.serving(({ stream, field }) => {
    stream.respond({ ':status': 200 });
    stream.end(field(':path') === '/' ? Buffer.alloc(1_000_000) : 'small');
  });
  using proxy = await h2c(upstream);
  using client = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  for (let nth = 0; nth < large; nth++) {
    client.request(2 * nth + 1);
    await client.until('a response', () => client.of(2 * nth + 1, FRAME.headers).length > 0);
  }
  for (let nth = 0; nth < 120; nth++) assert.equal((await proxy.request(get('/small'))).body, 'small');
  assert.deepEqual(proxy.targetChanges(), []);
});

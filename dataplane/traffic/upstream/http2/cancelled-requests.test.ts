import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { CODE, FLAG, FRAME, Frames, frame, head, SETTING, word } from '../../testing/http2/frames.ts';
import { Http2UpstreamFixture, h2c, okay } from '../../testing/http2/upstream.ts';
import { eventually, get, type ProxyFixture, whenRead } from '../../testing/proxy/test-proxy.ts';

/** After how many cancelled requests within how many ms a connection gets no further ones. */
const MOST = 100;
const PERIOD_MS = 30_000;
/** How many requests a client may have open. */
const STREAMS = 125;
/** How many are sent at once: as few as a connection gets before the target has accepted any. */
const STEP = 25;
/** As many as a server of Netty allows within 30 s, and hardly any more after that. */
const STRICT = { streamResetBurst: 200, streamResetRate: 1 };

const resetsOf = ({ received }: Frames): number => received.filter(({ type }) => type === FRAME.reset).length;

/** Clients that have opened this many requests, and cancel all of them. */
async function openRequests(proxy: ProxyFixture, count: number, opened: () => number) {
  const clients: Frames[] = [];
  const before = opened();
  for (let left = count; left > 0; left -= STREAMS) {
    const client = (await Frames.plain(proxy.port)).greet();
    clients.push(client);
    for (let nth = 0; nth < Math.min(left, STREAMS); nth++) {
      client.request(2 * nth + 1, head([':path', '/cancelled']));
      if (nth % STEP === STEP - 1) await client.until('the responses', () => client.status(2 * nth + 1) === 200);
    }
  }
  await eventually('the requests', () => opened() === before + count);
  // They are no rapid resets.
  proxy.clock.pass(1_000);
  await whenRead();
  return async (): Promise<void> => {
    const open = proxy.ledger.inFlight.total() - count;
    for (const [at, client] of clients.entries())
      for (let nth = 0; nth < Math.min(count - at * STREAMS, STREAMS); nth++) client.send(FRAME.reset, 0, 2 * nth + 1, word(CODE.cancel));
    await eventually('their end', () => proxy.ledger.inFlight.total() === open);
    for (const client of clients) client[Symbol.dispose]();
  };
}

test('a server that ends connections on which many requests are cancelled completes the requests of others', async () => {
  using upstream = await Http2UpstreamFixture.serving((asked) => {
    if (asked.field(':path') === '/') return;
    asked.stream.respond({ ':status': 200 });
  }, STRICT);
  using proxy = await h2c(upstream);
  const other = proxy.request('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n');
  await eventually('the request', () => upstream.requests.length === 1);
  for (let times = 0; times < 5; times++) {
    const cancel = await openRequests(proxy, 90, () => upstream.requests.length);
    await cancel();
  }
  const [first] = upstream.requests;
  if (first !== undefined) okay('complete')(first);
  assert.equal((await other).body, 'complete');
  assert.deepEqual(proxy.targetChanges(), []);
});

test('the same is true if hundreds of requests are cancelled at once', async () => {
  using upstream = await Http2UpstreamFixture.serving((asked) => {
    if (asked.field(':path') === '/') return;
    asked.stream.respond({ ':status': 200 });
  }, STRICT);
  using proxy = await h2c(upstream);
  const other = proxy.request('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n');
  await eventually('the request', () => upstream.requests.length === 1);
  const cancel = await openRequests(proxy, 4 * STREAMS, () => upstream.requests.length);
  assert.equal(upstream.sessions.length, 1);
  await cancel();
  const [first] = upstream.requests;
  if (first !== undefined) okay('complete')(first);
  assert.equal((await other).body, 'complete');
  const next = await proxy.connect();
  next.send(get('/cancelled'));
  assert.match(await next.readHead(), / 200 /);
});

test('a connection on which many requests were cancelled gets no more of them, and its target is told of the others later', async () => {
  let asked = 0;
  using target = await FrameTargetFixture.serving((connection, stream) => {
    if (stream === 1) connection.send(FRAME.settings, FLAG.ack, 0);
    asked++;
    connection.send(FRAME.headers, FLAG.endHeaders, stream, Buffer.of(0x88));
  });
  using proxy = await h2c(target);
  const other = await proxy.connect();
  other.send(get());
  await eventually('the request', () => asked === 1);
  const cancel = await openRequests(proxy, MOST + STREAMS, () => asked);
  const [first] = target.connections;
  assert.ok(first !== undefined);
  assert.equal(target.connections.length, 1);
  await cancel();
  await first.answered();
  assert.equal(resetsOf(first), MOST);
  // Those that have not learned of it send on: more small frames than are accepted of streams that have ended.
  const small = Array.from({ length: 10_000 }, (_, nth) => frame(FRAME.data, 0, 3 + 2 * (nth % (MOST + STREAMS)), 'x'));
  first.write(Buffer.concat(small));
  await first.answered();
  (await proxy.connect()).send(get());
  await eventually('the next request', () => asked === MOST + STREAMS + 2);
  assert.equal(target.connections.length, 2);
  proxy.clock.pass(PERIOD_MS);
  await first.until('the next resets', () => resetsOf(first) === 2 * MOST);
  // A response has a minute for each piece.
  first.send(FRAME.data, 0, 1, 'x');
  await first.answered();
  proxy.clock.pass(PERIOD_MS);
  await first.until('the last resets', () => resetsOf(first) === MOST + STREAMS);
  // What they waited for has been sent, and the connection ends with its last response.
  first.send(FRAME.data, FLAG.endStream, 1);
  await first.until('its end', () => first.goneCode === CODE.none);
});

test('such a connection is used if no other can be opened', async () => {
  let asked = 0;
  using target = await FrameTargetFixture.serving((connection, stream) => {
    asked++;
    connection.send(FRAME.headers, FLAG.endHeaders, stream, Buffer.of(0x88));
  });
  using proxy = await h2c(target);
  const cancel = await openRequests(proxy, MOST, () => asked);
  target.refuse();
  await cancel();
  for (let nth = 0; nth < 2; nth++) {
    const next = await proxy.connect();
    next.send(get());
    assert.match(await next.readHead(), / 200 /);
  }
  assert.equal(target.connections.length, 1);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a target gets no more streams on it than it allows, and is told of cancellations that wait if requests need their places', async () => {
  let asked = 0;
  using target = await FrameTargetFixture.serving(
    (connection, stream) => {
      asked++;
      assert.ok(asked - resetsOf(connection) <= MOST + STREAMS);
      connection.send(FRAME.headers, FLAG.endHeaders, stream, Buffer.of(0x88));
    },
    [SETTING.maxConcurrentStreams, MOST + STREAMS],
  );
  using proxy = await h2c(target);
  const cancel = await openRequests(proxy, MOST + STREAMS, () => asked);
  target.refuse();
  await cancel();
  const more = await openRequests(proxy, MOST, () => asked);
  await target.connections[0]?.answered();
  assert.equal(target.connections[0] && resetsOf(target.connections[0]), MOST);
  for (let nth = 1; nth <= 2; nth++) {
    const next = await proxy.connect();
    next.send(get());
    assert.match(await next.readHead(), / 200 /);
    assert.equal(target.connections[0] && resetsOf(target.connections[0]), MOST + nth);
  }
  assert.deepEqual(proxy.targetChanges(), []);
  await more();
});

/** How many streams a target may allow. */
const LIMIT = 128;
/** With connections that only complete their requests. */
const MOST_OPEN = 64;

test('requests are served while more are cancelled than a target may be told of', async () => {
  let asked = 0;
  using target = await FrameTargetFixture.serving(
    (connection, stream) => {
      asked++;
      connection.send(FRAME.headers, FLAG.endHeaders, stream, Buffer.of(0x88));
    },
    [SETTING.maxConcurrentStreams, LIMIT],
  );
  using proxy = await h2c(target);
  // At once: `openRequests` lets time pass.
  for (let times = 1; times <= 20; times++) {
    using client = (await Frames.plain(proxy.port)).greet();
    for (let nth = 0; nth < MOST; nth++) client.request(2 * nth + 1, head([':path', '/cancelled']));
    await eventually('the requests', () => asked === times * MOST);
    for (let nth = 0; nth < MOST; nth++) client.send(FRAME.reset, 0, 2 * nth + 1, word(CODE.cancel));
    await eventually('their end', () => proxy.ledger.inFlight.total() === 0);
  }
  const next = await proxy.connect();
  next.send(get());
  assert.match(await next.readHead(), / 200 /);
});

test('so are they if each connection has a request that does not end, and no further one may be opened', async () => {
  let asked = 0;
  let lastAsked = (): void => undefined;
  using target = await FrameTargetFixture.serving(
    (connection, stream) => {
      if (stream === 1) connection.send(FRAME.settings, FLAG.ack, 0);
      asked++;
      connection.send(FRAME.headers, FLAG.endHeaders, stream, Buffer.of(0x88));
      lastAsked = () => connection.send(FRAME.data, 0, stream, 'x');
    },
    [SETTING.maxConcurrentStreams, LIMIT],
  );
  using proxy = await h2c(target);
  const sendMore: (() => void)[] = [];
  for (let times = 0; times < MOST_OPEN + 5; times++) {
    const cancel = await openRequests(proxy, MOST, () => asked);
    const before = asked;
    (await proxy.connect()).send(get());
    await eventually('the request that does not end', () => asked === before + 1);
    sendMore.push(lastAsked);
    await cancel();
    // A response has a minute for each piece.
    for (const send of sendMore) send();
    await Promise.all(target.connections.map((connection) => connection.answered()));
  }
  assert.equal(target.connections.length, MOST_OPEN);
  const next = await proxy.connect();
  next.send(get());
  assert.match(await next.readHead(), / 200 /);
});

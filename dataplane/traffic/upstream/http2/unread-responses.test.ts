import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { advance, settle } from '../../codec/http2/limits/advance.ts';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { CODE, FLAG, FRAME, Frames, INITIAL_WINDOW, MAX_FRAME, SETTING, word } from '../../testing/http2/frames.ts';
import { h2c } from '../../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site, whenRead } from '../../testing/proxy/test-proxy.ts';
import { stillness } from '../../testing/stillness.ts';

/** As many connections as are opened to a target. */
const SESSIONS = 8;
/** What all streams of a thread may keep without using up the windows of their connections. */
const KEPT = 134_217_728;
/** What a target may send on a stream that is not read, and how many of them have their connection be read no more. */
const STREAM_WINDOW = 262_144;
const STREAMS = 48;
/** How many make it one that gets requests only if there is no other. */
const CROWDING = 15;
/** Enough for all else to be passed on at once. */
const PASSED = 80_000;
const PIECE = Buffer.alloc(MAX_FRAME);
/** Statuses 200 and 204 (RFC 7541 appendix A). */
const [OK, NO_CONTENT] = [Buffer.of(0x88), Buffer.of(0x89)];

/** The status of another's request that has waited for some seconds. */
async function statusAfter(seconds: number, proxy: ProxyFixture): Promise<string> {
  const client = await proxy.connect();
  const before = proxy.ledger.inFlight.total();
  client.send(get());
  await eventually('the request to be under way', () => proxy.ledger.inFlight.total() > before);
  for (let second = 0; second < seconds; second++) proxy.clock.pass(1_000);
  return (await client.readHead()).slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
}

function pour(connection: Frames, stream: number): void {
  connection.send(FRAME.headers, FLAG.endHeaders, stream, OK);
  for (let sent = 0; sent < STREAM_WINDOW; sent += PIECE.length) connection.send(FRAME.data, 0, stream, PIECE);
}

/** A target that sends as much as it may to the first requests, and then only heads. */
const pouring = (streams: number, ...settings: readonly (readonly [number, number])[]) => {
  let answered = 0;
  const answer = (connection: Frames, stream: number): void => {
    if (++answered > streams) return void connection.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, NO_CONTENT);
    pour(connection, stream);
  };
  return FrameTargetFixture.serving(answer, ...settings);
};

/** A client that uses up connections to the target by responses that it does not read, one after the other. */
async function useUp(proxy: ProxyFixture, { connections }: FrameTargetFixture, streams: number, sessions = SESSIONS): Promise<Frames> {
  const client = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  for (let nth = 0; nth < sessions; nth++) {
    const ids = Array.from({ length: streams }, (_, at) => 2 * (nth * streams + at) + 1);
    for (const id of ids) client.request(id);
    await client.until('the responses', () => ids.every((id) => client.of(id, FRAME.headers).length > 0));
    await connections.at(-1)?.answered();
  }
  assert.equal(connections.length, sessions);
  return client;
}

/** Streams of other connections keep all that may be kept. */
async function keepAll(t: TestContext): Promise<void> {
  const others = { advanced: 0 };
  await eventually('the end of earlier streams', () => advance(others, KEPT) > 0);
  t.after(() => settle(others, KEPT));
}

test('if nothing is read of any connection to a target because clients do not read, the oldest of their responses give way', async (t) => {
  using target = await pouring(SESSIONS * (CROWDING + STREAMS));
  using proxy = await h2c(target);
  await keepAll(t);
  const clients = [await useUp(proxy, target, CROWDING)];
  t.after(() => {
    for (const client of clients) client[Symbol.dispose]();
  });
  const sent = (): number => target.connections.reduce((bytes, { socket }) => bytes + socket.bytesWritten, 0);
  for (let session = 0; session < SESSIONS; session++) {
    const client = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
    clients.push(client);
    for (let nth = 0; nth < STREAMS; nth++) client.request(2 * nth + 1);
    await stillness('the target to be paused', sent);
  }
  assert.equal(await statusAfter(6, proxy), '503');
  assert.equal(await statusAfter(12, proxy), '204');
  for (const client of clients) await client.answered();
  // On each connection, until so little is unread that it would be preferred again.
  const ended = clients.flatMap(({ received }) => received).filter(({ type }) => type === FRAME.reset).length;
  assert.ok(ended > 0 && ended <= SESSIONS * STREAMS, `${ended} ended`);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('if all streams of all connections to a target are in use, the response that is unread for longest gives way', async () => {
  using target = await pouring(SESSIONS, [SETTING.maxConcurrentStreams, 1]);
  using proxy = await h2c(target);
  using client = await useUp(proxy, target, 1);
  assert.equal(await statusAfter(6, proxy), '503');
  assert.equal(await statusAfter(12, proxy), '204');
  await client.answered();
  assert.equal(client.resetCode(1), CODE.internal);
  assert.equal(client.received.filter(({ type }) => type === FRAME.reset).length, 1);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a response gives way only once a slow client would have read what was passed on at once', async () => {
  using target = await pouring(SESSIONS, [SETTING.maxConcurrentStreams, 1]);
  using proxy = await h2c(target);
  using client = await useUp(proxy, target, 1);
  client.send(FRAME.windowUpdate, 0, 0, word(STREAM_WINDOW * SESSIONS));
  for (let nth = 0; nth < SESSIONS; nth++) client.send(FRAME.windowUpdate, 0, 2 * nth + 1, word(PASSED));
  const bytes = (): number => client.received.reduce((sum, { type, payload }) => (type === FRAME.data ? sum + payload.length : sum), 0);
  await client.until('what the windows allow', () => bytes() === PASSED * SESSIONS);
  await whenRead();
  assert.equal(await statusAfter(12, proxy), '503');
  assert.equal(await statusAfter(12, proxy), '204');
});

test('a response gives way also if the target accepts no further connection', async () => {
  using target = await pouring(1, [SETTING.maxConcurrentStreams, 1]);
  using proxy = await h2c(target);
  using client = await useUp(proxy, target, 1, 1);
  target.refuse();
  assert.equal(await statusAfter(6, proxy), '503');
  assert.equal(await statusAfter(12, proxy), '204');
  await client.until('the reset', () => client.resetCode(1) === CODE.internal);
});

test('no response gives way if the target accepts no request any more', async () => {
  using target = await pouring(SESSIONS, [SETTING.maxConcurrentStreams, 1]);
  using proxy = await h2c(target);
  using client = await useUp(proxy, target, 1);
  for (const connection of target.connections) {
    connection.settings([SETTING.maxConcurrentStreams, 0]);
    await connection.answered();
  }
  assert.equal(await statusAfter(18, proxy), '503');
  await client.answered();
  assert.equal(client.received.filter(({ type }) => type === FRAME.reset).length, 0);
});

test('connections with much unread take requests if no further one may be opened', async (t) => {
  using target = await pouring(SESSIONS * CROWDING);
  using proxy = await h2c(target);
  await keepAll(t);
  using client = await useUp(proxy, target, CROWDING);
  assert.equal(await statusAfter(6, proxy), '204');
  await client.answered();
  assert.equal(client.received.filter(({ type }) => type === FRAME.reset).length, 0);
});

test('no response gives way to requests that wait only until the target has accepted others', async (t) => {
  let isFirst = true;
  using target = await FrameTargetFixture.serving((connection, stream) => {
    if (isFirst) pour(connection, stream);
    isFirst = false;
  });
  using proxy = await h2c(target);
  using client = await useUp(proxy, target, 1, 1);
  for (let second = 0; second < 15; second++) proxy.clock.pass(1_000);
  const others: Frames[] = [];
  t.after(() => {
    for (const other of others) other[Symbol.dispose]();
  });
  const asked = (): number =>
    target.connections.reduce((sum, { received }) => sum + received.filter(({ type }) => type === FRAME.headers).length, 0);
  // One more than are sent before the target has accepted any.
  for (let left = SESSIONS * 100 + 1; left > 0; left -= 100) {
    const other = (await Frames.plain(proxy.port)).greet();
    others.push(other);
    for (let nth = 0; nth < Math.min(left, 100); nth++) other.request(2 * nth + 1);
  }
  await eventually('the requests', () => asked() === SESSIONS * 100 + 1 && proxy.ledger.inFlight.total() === SESSIONS * 100 + 2);
  proxy.clock.pass(500);
  await whenRead();
  await client.answered();
  assert.equal(client.resetCode(1), undefined);
});

test('a response of a connection that has ended gives way, too, if a request lacks its place at the target', async (t) => {
  using target = await pouring(1);
  using proxy = await ProxyFixture.start([
    { ...site('a.test', target), transport: { protocol: 'h2c' }, max_in_flight: { requests: 1, queue: 10, queue_secs: 60 } },
  ]);
  const client = await useUp(proxy, target, 1, 1);
  t.after(() => client[Symbol.dispose]());
  const [first] = target.connections;
  first?.send(FRAME.data, FLAG.endStream, 1);
  await first?.answered();
  first?.socket.destroy();
  await eventually('the end of the connection', () => proxy.ledger.connections.sockets() === proxy.ledger.connections.open());
  for (let second = 0; second < 15; second++) proxy.clock.pass(1_000);
  const next = await proxy.connect();
  t.after(() => next.socket.destroy());
  next.send(get());
  await eventually('the request to wait', () => proxy.ledger.inFlight.total() === 2);
  await eventually('its response', () => {
    proxy.clock.pass(500);
    return next.unread !== '';
  });
  assert.match(await next.readHead(), / 204 /);
});

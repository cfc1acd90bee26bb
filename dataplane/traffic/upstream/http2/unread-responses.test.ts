import assert from 'node:assert/strict';
import { test } from 'node:test';
import { advance, settle } from '../../codec/http2/limits/advance.ts';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { CODE, FLAG, FRAME, Frames, INITIAL_WINDOW, MAX_FRAME, SETTING } from '../../testing/http2/frames.ts';
import { h2c } from '../../testing/http2/upstream.ts';
import { eventually, get, type ProxyFixture, whenRead } from '../../testing/proxy/test-proxy.ts';

/** As many connections as are opened to a target. */
const SESSIONS = 8;
/** What all streams of a thread may keep without using up the windows of their connections. */
const KEPT = 134_217_728;
/** What a target may send on a stream that is not read, and how many of them use up the window of their connection. */
const STREAM_WINDOW = 262_144;
const STREAMS = 16;
const PIECE = Buffer.alloc(MAX_FRAME);
/** Statuses 200 and 204 (RFC 7541 appendix A). */
const [OK, NO_CONTENT] = [Buffer.of(0x88), Buffer.of(0x89)];

/** The statuses of two requests of others: one that comes at once, and one after those that do not read have had time to. */
async function statuses(proxy: ProxyFixture): Promise<string[]> {
  const found: string[] = [];
  for (const seconds of [6, 6]) {
    const client = await proxy.connect();
    client.send(get());
    await eventually('the request to be under way', () => client.total > 0 || proxy.ledger.inFlight.total() > 0);
    await whenRead();
    for (let second = 0; second < seconds; second++) proxy.clock.pass(1_000);
    found.push((await client.readHead()).slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
  }
  return found;
}

/** A target that sends as much as it may to the first requests, and then only heads. */
const pouring = (streams: number, ...settings: readonly (readonly [number, number])[]) => {
  let answered = 0;
  const answer = (connection: Frames, stream: number): void => {
    if (++answered > streams) return void connection.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, NO_CONTENT);
    connection.send(FRAME.headers, FLAG.endHeaders, stream, OK);
    for (let sent = 0; sent < STREAM_WINDOW; sent += PIECE.length) connection.send(FRAME.data, 0, stream, PIECE);
  };
  return FrameTargetFixture.serving(answer, ...settings);
};

/** A client that uses up connections to the target by responses that it does not read, one after the other. */
async function useUp(proxy: ProxyFixture, { connections }: FrameTargetFixture, streams: number): Promise<Frames> {
  const client = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  for (let nth = 0; nth < SESSIONS; nth++) {
    const ids = Array.from({ length: streams }, (_, at) => 2 * (nth * streams + at) + 1);
    for (const id of ids) client.request(id);
    await client.until('the responses', () => ids.every((id) => client.of(id, FRAME.headers).length > 0));
    await connections.at(-1)?.answered();
  }
  assert.equal(connections.length, SESSIONS);
  return client;
}

test('if clients that do not read have used up the windows of all connections to a target, the oldest of their responses give way', async (t) => {
  using target = await pouring(SESSIONS * STREAMS);
  using proxy = await h2c(target);
  const others = { advanced: 0 };
  advance(others, KEPT);
  t.after(() => settle(others, KEPT));
  using client = await useUp(proxy, target, STREAMS);
  assert.deepEqual(await statuses(proxy), ['503', '204']);
  await client.answered();
  const ended = client.received.filter(({ type }) => type === FRAME.reset).length;
  assert.ok(ended > 0 && ended <= STREAMS, `${ended} ended`);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('if all streams of all connections to a target are in use, the response that is unread for longest gives way', async () => {
  using target = await pouring(SESSIONS, [SETTING.maxConcurrentStreams, 1]);
  using proxy = await h2c(target);
  using client = await useUp(proxy, target, 1);
  assert.deepEqual(await statuses(proxy), ['503', '204']);
  await client.answered();
  assert.equal(client.resetCode(1), CODE.internal);
  assert.equal(client.received.filter(({ type }) => type === FRAME.reset).length, 1);
  assert.deepEqual(proxy.targetChanges(), []);
});

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { CODE, type Field, FRAME, type Frames, head, INITIAL_WINDOW } from '../../testing/http2/frames.ts';
import { SecureFixture } from '../../testing/proxy/secure-proxy.ts';
import { UpstreamFixture } from '../../testing/test-upstream.ts';

const PRIORITY_UPDATE = 16;
const LARGE = 400_000;
/** What a client may receive on its connection before it opens the window (RFC 9113 6.9.2). */
const FIRST_WINDOW = 65_535;

let upstream: UpstreamFixture;
let secure: SecureFixture;
let client: Frames;

beforeEach(async () => {
  upstream = await UpstreamFixture.serving(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n${'x'.repeat(LARGE)}`);
  secure = await SecureFixture.before(upstream);
  client = await secure.greeted([INITIAL_WINDOW, 0x7fffffff]);
  await client.answered();
});
afterEach(() => {
  client.socket.destroy();
  secure[Symbol.dispose]();
  upstream[Symbol.dispose]();
});

const word = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const received = (stream: number): number => client.of(stream, FRAME.data).reduce((sum, { payload }) => sum + payload.length, 0);

/** Requests a large response on each stream, with these fields, until all of them wait for the window of the connection. */
async function waiting(...fields: readonly (readonly Field[])[]): Promise<void> {
  for (const [at, more] of fields.entries()) client.request(2 * at + 1, head(...more));
  await client.until('all heads, and the window to be used up', () => {
    const streams = fields.map((_, at) => 2 * at + 1);
    return streams.every((stream) => client.status(stream) === 200) && streams.map(received).reduce((a, b) => a + b) === FIRST_WINDOW;
  });
  // So that each of them has something to send.
  await client.answered();
}

/** Opens the window of the connection, by less than each response has waiting. @returns how many bytes of each stream came through it. */
async function opened(bytes: number, ...streams: readonly number[]): Promise<number[]> {
  const before = streams.map(received);
  client.send(FRAME.windowUpdate, 0, 0, word(bytes));
  const more = (): number[] => streams.map((stream, at) => received(stream) - (before[at] ?? 0));
  await client.until('the window to be used up', () => more().reduce((a, b) => a + b) === bytes);
  return more();
}

test('the most urgent response is sent first (RFC 9218 4.1)', async () => {
  await waiting([['priority', 'u=5']], [['priority', 'u=1']], [['priority', 'u=3']]);
  assert.deepEqual(await opened(40_000, 1, 3, 5), [0, 40_000, 0]);
});

test('PRIORITY_UPDATE changes the urgency of a response that waits (RFC 9218 7.1)', async () => {
  await waiting([['priority', 'u=5']], [['priority', 'u=1']]);
  client.send(PRIORITY_UPDATE, 0, 0, Buffer.concat([word(1), Buffer.from('u=0')]));
  assert.deepEqual(await opened(40_000, 1, 3), [40_000, 0]);
});

test('PRIORITY_UPDATE may come before its request, and then counts instead of its Priority field (RFC 9218 7.1)', async () => {
  for (const stream of [3, 5]) client.send(PRIORITY_UPDATE, 0, 0, Buffer.concat([word(stream), Buffer.from(stream === 3 ? 'u=1' : 'u=0')]));
  client.send(PRIORITY_UPDATE, 0, 0, Buffer.concat([word(5), Buffer.from('u=6')]));
  await waiting([], [['priority', 'u=7']], [['priority', 'u=0']]);
  assert.deepEqual(await opened(40_000, 1, 3, 5), [0, 40_000, 0]);
});

test('more PRIORITY_UPDATE frames before their requests than requests are allowed end the connection (RFC 9218 7.1)', async () => {
  for (let nth = 0; nth < 129; nth++) client.send(PRIORITY_UPDATE, 0, 0, Buffer.concat([word(2 * nth + 1), Buffer.from('u=1')]));
  await client.until('the connection to end', () => client.closed);
  const end = client.received.find(({ type }) => type === FRAME.goAway);
  assert.equal(end?.payload.readUInt32BE(4), CODE.protocol);
});

test('PRIORITY_UPDATE frames for requests that never come are forgotten once a later one has come', async () => {
  for (let round = 0; round < 3; round++) {
    for (let nth = 0; nth < 100; nth++)
      client.send(PRIORITY_UPDATE, 0, 0, Buffer.concat([word(1_000 * round + 2 * nth + 1), Buffer.from('u=1')]));
    client.request(1_000 * (round + 1) - 1, head());
    await client.until('the response', () => client.status(1_000 * (round + 1) - 1) === 200);
  }
  assert.equal(client.closed, false);
});

test('incremental responses of one urgency take turns, and others are sent one after the other (RFC 9218 4.2)', async () => {
  await waiting([['priority', 'u=2, i']], [['priority', 'u=2, i']]);
  const shares = await opened(64_000, 1, 3);
  assert.ok(Math.min(...shares) >= 24_000, `${shares}`);
  await waitingAnew();
  await waiting([['priority', 'u=2']], [['priority', 'u=2']]);
  assert.ok((await opened(40_000, 1, 3)).includes(0));
});

test('responses without a signal take turns', async () => {
  await waiting([], []);
  const shares = await opened(64_000, 1, 3);
  assert.ok(Math.min(...shares) >= 24_000, `${shares}`);
});

/** A new connection, on which nothing has been requested. */
async function waitingAnew(): Promise<void> {
  client.socket.destroy();
  client = await secure.greeted([INITIAL_WINDOW, 0x7fffffff]);
  await client.answered();
}

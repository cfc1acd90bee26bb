// Runs alone: it measures the memory of its process.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { block, CODE, type Field, FLAG, FRAME, type Frames, frame, head, MAX_FRAME, word } from '../../testing/http2/frames.ts';
import { SecureFixture } from '../../testing/proxy/secure-proxy.ts';
import { eventually } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

const MEGABYTE = 1_000_000;
const POST = block(head([':method', 'POST']));

const times = (count: number, make: (at: number) => Buffer): Buffer => Buffer.concat(Array.from({ length: count }, (_, at) => make(at)));

/** A request without a body, with its head in two frames if it is too large for one. */
const asking = (stream: number, fields: Buffer): Buffer =>
  fields.length <= MAX_FRAME
    ? frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, fields)
    : Buffer.concat([
        frame(FRAME.headers, FLAG.endStream, stream, fields.subarray(0, MAX_FRAME)),
        frame(FRAME.continuation, FLAG.endHeaders, stream, fields.subarray(MAX_FRAME)),
      ]);
const reset = (stream: number): Buffer => frame(FRAME.reset, 0, stream, word(CODE.cancel));
const ping = frame(FRAME.ping, 0, 0, Buffer.alloc(8));

/** Sends piece after piece for as long as the proxy accepts it. @returns the bytes that it accepted. */
async function flood(client: Frames, maxBytes: number, piece: (nth: number) => Buffer): Promise<number> {
  const { socket } = client;
  const closed = new Promise((resolve) => socket.once('close', resolve));
  let sent = 0;
  for (let nth = 0; !client.closed && sent < maxBytes; nth++) {
    const bytes = piece(nth);
    sent += bytes.length;
    if (!socket.write(bytes)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    else await new Promise((resolve) => setImmediate(resolve));
  }
  return sent;
}

class Scene {
  readonly upstream: UpstreamFixture;
  readonly secure: SecureFixture;

  private constructor(upstream: UpstreamFixture, secure: SecureFixture) {
    this.upstream = upstream;
    this.secure = secure;
  }

  static async set(): Promise<Scene> {
    const upstream = await UpstreamFixture.serving(({ line }) => (line.startsWith('GET') ? ok('x') : null));
    return new Scene(upstream, await SecureFixture.before(upstream));
  }

  /** Floods a new connection. @returns the connection and the bytes that it accepted. */
  async flooded(
    maxBytes: number,
    piece: (nth: number) => Buffer,
    begin: Buffer = Buffer.alloc(0),
  ): Promise<{ client: Frames; sent: number }> {
    const client = await this.secure.greeted();
    await client.answered();
    client.write(begin);
    return { client, sent: await flood(client, maxBytes, piece) };
  }

  /** Other clients are served, and nothing leaks. */
  async unharmed(): Promise<void> {
    const other = await this.secure.greeted();
    other.request(1);
    await other.until('an answer', () => other.status(1) === 200);
    await eventually('nothing to be under way', () => this.secure.proxy.ledger.inFlight.total() === 0);
  }

  [Symbol.dispose](): void {
    this.secure[Symbol.dispose]();
    this.upstream[Symbol.dispose]();
  }
}

describe('closes only the connection that is flooded with', () => {
  const rows: readonly [what: string, piece: (nth: number) => Buffer, begin?: Buffer][] = [
    [
      'requests that are reset at once',
      (nth) => times(100, (at) => Buffer.concat([asking(2 * (100 * nth + at) + 1, block(head())), reset(2 * (100 * nth + at) + 1)])),
    ],
    [
      'malformed requests that are reset at once',
      (nth) =>
        times(100, (at) =>
          Buffer.concat([asking(2 * (100 * nth + at) + 1, block(head(['host', 'b.test']))), reset(2 * (100 * nth + at) + 1)]),
        ),
    ],
    [
      'requests that the proxy is made to reset',
      (nth) =>
        times(10, (at) =>
          Buffer.concat([
            frame(FRAME.headers, FLAG.endHeaders, 2 * (10 * nth + at) + 1, POST),
            frame(FRAME.windowUpdate, 0, 2 * (10 * nth + at) + 1, word(0)),
          ]),
        ),
    ],
    ['heads that the proxy resets', (nth) => times(10, (at) => asking(2 * (10 * nth + at) + 1, block(head(['X', 'upper case']))))],
    [
      'continuations',
      () => times(10, () => frame(FRAME.continuation, 0, 1, block([['x', 'y']]))),
      frame(FRAME.headers, FLAG.endStream, 1, block(head())),
    ],
    ['empty continuations', () => times(10, () => frame(FRAME.continuation, 0, 1)), frame(FRAME.headers, FLAG.endStream, 1, block(head()))],
    ['empty pieces of a body', () => times(100, () => frame(FRAME.data, 0, 1)), frame(FRAME.headers, FLAG.endHeaders, 1, POST)],
    [
      'pieces of a body that are all padding',
      () => times(100, () => frame(FRAME.data, FLAG.padded, 1, Buffer.from([0]))),
      frame(FRAME.headers, FLAG.endHeaders, 1, POST),
    ],
    ['pings', () => times(2_000, () => ping)],
    ['priorities', () => times(100, () => frame(FRAME.priority, 0, 1, Buffer.from([0, 0, 0, 0, 1])))],
    ['priorities of RFC 9218', () => times(100, () => frame(FRAME.priorityUpdate, 0, 0, Buffer.concat([word(1), Buffer.from('u=0')])))],
    [
      'heads without a field',
      (nth) => times(100, (at) => frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 2 * (100 * nth + at) + 1)),
    ],
    ['frames of no known type', () => times(100, () => frame(99, 0, 0))],
    [
      'one frame of 33 settings',
      () =>
        frame(
          FRAME.settings,
          0,
          0,
          times(33, () => Buffer.from([0, 4, 0, 0, 255, 255])),
        ),
    ],
    ['settings that change nothing', () => times(500, () => frame(FRAME.settings, 0, 0))],
    ['windows that open byte by byte', () => times(500, () => frame(FRAME.windowUpdate, 0, 0, word(1)))],
    ['GOAWAY frames', () => times(100, () => frame(FRAME.goAway, 0, 0, Buffer.alloc(8)))],
    ['requests beyond 128', (nth) => times(100, (at) => frame(FRAME.headers, FLAG.endHeaders, 2 * (100 * nth + at) + 1, POST))],
  ];
  for (const [what, piece, begin] of rows) {
    test(what, async () => {
      using scene = await Scene.set();
      const { client, sent } = await scene.flooded(MEGABYTE, piece, begin);
      await client.until('the end', () => client.closed);
      assert.ok(sent < MEGABYTE);
      await scene.unharmed();
    });
  }

  for (const [what, one] of [
    ['pings', ping],
    ['settings', frame(FRAME.settings, 0, 0)],
  ] as const) {
    test(`${what} whose responses are not read`, async () => {
      using scene = await Scene.set();
      const { clock, ledger } = scene.secure.proxy;
      const client = await scene.secure.greeted();
      await client.answered();
      client.socket.pause();
      for (let nth = 0; nth < 20; nth++) client.write(times(10_000, () => one));
      await eventually('the flood to be stopped', () => {
        clock.pass(100);
        return ledger.connections.open() === 0;
      });
      assert.ok(clock.monotonic() < 10_000);
      await scene.unharmed();
    });
  }
});

test('one-byte references to a 4,000-byte field, 4,000 of them, end only their own connection', async () => {
  using scene = await Scene.set();
  const client = await scene.secure.greeted();
  // A field is added to the table and then referenced by its index again and again (RFC 7541 6.1, 6.2.1).
  const long = block([['x-long', 'a'.repeat(4_000)]]).subarray(1);
  client.write(asking(1, Buffer.concat([block(head()), Buffer.from([0x40]), long, Buffer.alloc(4_000, 0x80 | 62)])));
  await client.until('the end', () => client.closed);
  assert.equal(client.goneCode, CODE.calm);
  assert.equal(scene.upstream.requests.length, 0);
  await scene.unharmed();
});

describe('refuses, while the connection stays open,', () => {
  const long = (bytes: number): Field => ['x-long', 'a'.repeat(bytes)];
  const many = (count: number): Buffer => block(head(...Array.from({ length: count }, (_, at): Field => [`x-${at}`, ''])));
  for (const [what, fields] of [
    ['a head of more than 16 KB', block(head(long(12_000), ['x-more', 'a'.repeat(8_000)]))],
    ['300 fields and a Host', many(300)],
    ['2,100 fields', many(2_100)],
  ] as const) {
    test(`${what}, with the matching status`, async () => {
      using scene = await Scene.set();
      const client = await scene.secure.greeted();
      client.write(asking(1, fields));
      await client.until('an answer', () => client.status(1) === 431);
      assert.equal(scene.upstream.requests.length, 0);
      client.request(3);
      await client.until('an answer', () => client.status(3) === 200);
    });
  }

  test('the 129th request of a client that has not received our SETTINGS yet', async () => {
    using scene = await Scene.set();
    const client = await scene.secure.greeted();
    for (let at = 0; at < 129; at++) client.write(frame(FRAME.headers, FLAG.endHeaders, 2 * at + 1, POST));
    await client.until('the last to be refused', () => client.resetCode(257) === CODE.refused);
    assert.equal(client.resetCode(255), undefined);
    client.write(reset(1));
    client.request(259);
    await client.until('an answer', () => client.status(259) === 200);
    client.socket.destroy();
    await scene.unharmed();
  });

  test('a head in more CONTINUATION frames than it needs', async () => {
    using scene = await Scene.set();
    const client = await scene.secure.greeted();
    await client.answered();
    const fields = block(head(...Array.from({ length: 9 }, (_, at): Field => [`x-${at}`, ''])));
    client.write(frame(FRAME.headers, FLAG.endStream, 1, fields.subarray(0, 40)));
    for (let at = 0; at < 7; at++)
      client.write(
        frame(FRAME.continuation, at === 6 ? FLAG.endHeaders : 0, 1, fields.subarray(40 + at * 4, at === 6 ? fields.length : 44 + at * 4)),
      );
    await client.until('an answer', () => client.status(1) === 200);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CODE, FLAG, FRAME, Frames, frame } from '../../testing/http2/frames.ts';
import { eventually, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

/** The maximum number of concurrent requests of a client. */
const BATCH = 100;
const MAX_HASTY = 200;

const code = Buffer.alloc(4);
code.writeUInt32BE(CODE.cancel);
const reset = (stream: number): Buffer => frame(FRAME.reset, 0, stream, code);
const streams = (batch: number): number[] => Array.from({ length: BATCH }, (_, at) => 2 * (batch * BATCH + at) + 1);

class Scene {
  readonly upstream: UpstreamFixture;
  readonly proxy: ProxyFixture;
  readonly client: Frames;

  private constructor(upstream: UpstreamFixture, proxy: ProxyFixture, client: Frames) {
    this.upstream = upstream;
    this.proxy = proxy;
    this.client = client;
  }

  /** An upstream that answers requests while `answers` is set. */
  static async set(answers: () => boolean): Promise<Scene> {
    const upstream = await UpstreamFixture.serving(() => (answers() ? ok('x') : null));
    const proxy = await ProxyFixture.before(upstream);
    const client = (await Frames.plain(proxy.port)).greet();
    await client.answered();
    return new Scene(upstream, proxy, client);
  }

  /** Sends a batch of requests, waits until the upstream has read them, and cancels them. */
  async detachAttempt(batch: number): Promise<void> {
    const { upstream, client, proxy } = this;
    const before = upstream.requests.length;
    for (const stream of streams(batch)) client.request(stream);
    await eventually('the requests', () => upstream.requests.length === before + BATCH);
    client.write(Buffer.concat(streams(batch).map(reset)));
    await eventually('their end', () => proxy.ledger.inFlight.total() === 0);
  }

  [Symbol.dispose](): void {
    this.client.socket.destroy();
    this.proxy[Symbol.dispose]();
    this.upstream[Symbol.dispose]();
  }
}

test('a client that cancels all of its requests receives ENHANCE_YOUR_CALM and is disconnected, and each request is counted', async () => {
  using scene = await Scene.set(() => false);
  const { client, proxy, upstream } = scene;
  await scene.detachAttempt(0);
  assert.equal(client.closed, false);
  await scene.detachAttempt(1);
  await client.until('the end', () => client.closed);
  const [goAway] = client.of(0, FRAME.goAway);
  assert.equal(goAway?.payload.readUInt32BE(4), CODE.calm);
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 0, 0, 0, 0, MAX_HASTY]);
  assert.ok(upstream.connections.length <= MAX_HASTY);
});

test('requests that are cancelled before they are processed count as well', async () => {
  using scene = await Scene.set(() => false);
  const { client, proxy, upstream } = scene;
  for (let nth = 0; nth < MAX_HASTY && !client.closed; nth++) {
    client.socket.cork();
    client.request(2 * nth + 1).write(reset(2 * nth + 1));
    client.socket.uncork();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await client.until('the end', () => client.closed);
  assert.equal(client.of(0, FRAME.goAway).at(-1)?.payload.readUInt32BE(4), CODE.calm);
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
  const { classes = [] } = proxy.counted().get('') ?? {};
  const { classes: looked = [] } = proxy.counted().get('a.test') ?? {};
  assert.equal((classes[5] ?? 0) + (looked[5] ?? 0), MAX_HASTY);
  assert.ok(upstream.connections.length <= MAX_HASTY);
});

test('a client that cancels many requests and waits for as many stays connected', async () => {
  let answers = true;
  using scene = await Scene.set(() => answers);
  const { client } = scene;
  for (let batch = 0; batch < 6; batch++) {
    answers = batch % 2 === 0;
    if (!answers) {
      await scene.detachAttempt(batch);
      continue;
    }
    for (const stream of streams(batch)) client.request(stream);
    const answered = () => client.received.filter(({ type, flags }) => type === FRAME.data && (flags & FLAG.endStream) > 0).length;
    await client.until('the answers', () => answered() === (BATCH * (batch + 2)) / 2);
  }
  assert.equal(client.closed, false);
});

test('a client that cancels requests it has waited for a long time stays connected', async () => {
  using scene = await Scene.set(() => false);
  const { client, proxy, upstream } = scene;
  for (let batch = 0; batch < 3; batch++) {
    const before = upstream.requests.length;
    for (const stream of streams(batch)) client.request(stream);
    await eventually('the requests', () => upstream.requests.length === before + BATCH);
    proxy.clock.pass(1_000);
    client.write(Buffer.concat(streams(batch).map(reset)));
    await eventually('their end', () => proxy.ledger.inFlight.total() === 0);
  }
  assert.equal(client.closed, false);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FRAME, Frames, head, INITIAL_WINDOW, word } from '../../testing/http2/frames.ts';
import { Http2UpstreamFixture, h2c, okay } from '../../testing/http2/upstream.ts';
import { ProxyFixture, whenRead } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { UnreadShare } from './unread-share.ts';

/** What clients may leave unread in all. */
const LIMIT = 134_217_728;
const SIZE = 8_000_000;
/** What a client reads at a time. */
const PART = 80_000;

type Target = 'HTTP/1.1' | 'HTTP/2';

async function serving(target: Target, t: TestContext): Promise<ProxyFixture> {
  if (target === 'HTTP/1.1') {
    const upstream = await UpstreamFixture.serving(ok('x'.repeat(SIZE)));
    t.after(() => upstream[Symbol.dispose]());
    return ProxyFixture.before(upstream);
  }
  const upstream = await Http2UpstreamFixture.serving(okay('x'.repeat(SIZE)));
  t.after(() => upstream[Symbol.dispose]());
  return h2c(upstream);
}

/** A client with this many downloads, of which it has read nothing. */
async function downloading(proxy: ProxyFixture, streams: readonly number[], t: TestContext): Promise<Frames> {
  const client = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  t.after(() => client[Symbol.dispose]());
  client.send(FRAME.windowUpdate, 0, 0, word(SIZE));
  for (const stream of streams) client.request(stream, head());
  await client.until('the heads', () => streams.every((stream) => client.of(stream, FRAME.headers).length > 0));
  return client;
}

const bytesOf = (client: Frames, stream: number): number =>
  client.of(stream, FRAME.data).reduce((sum, { payload }) => sum + payload.length, 0);

async function readPart(client: Frames, stream: number): Promise<void> {
  const before = bytesOf(client, stream);
  client.send(FRAME.windowUpdate, 0, stream, word(PART));
  await client.until('what the window allows', () => bytesOf(client, stream) === before + PART || client.resetCode(stream) !== undefined);
  assert.equal(client.resetCode(stream), undefined, `after ${before} bytes`);
}

async function pass(proxy: ProxyFixture, client: Frames, seconds: number): Promise<void> {
  for (let half = 0; half < 2 * seconds; half++) {
    proxy.clock.pass(500);
    await whenRead();
    await client.answered();
  }
}

function othersLeave(bytes: number, t: TestContext): void {
  const others = new UnreadShare(0);
  others.count(bytes);
  t.after(() => others.count(0));
}

for (const target of ['HTTP/1.1', 'HTTP/2'] as const) {
  test(`a download over ${target} to its target goes on, however slow it is, while others leave far too much unread`, async (t) => {
    using proxy = await serving(target, t);
    const client = await downloading(proxy, [1], t);
    othersLeave(2 * LIMIT, t);
    for (let part = 0; part < 10; part++) {
      await readPart(client, 1);
      await pass(proxy, client, 3);
    }
  });
}

test('slow downloads over HTTP/2 to their target leave as little unread as others', async (t) => {
  using proxy = await serving('HTTP/2', t);
  const streams = [1, 3];
  const client = await downloading(proxy, streams, t);
  othersLeave(LIMIT - 200_000, t);
  for (let part = 0; part < 10; part++) for (const stream of streams) await readPart(client, stream);
  await pass(proxy, client, 50);
  assert.deepEqual(
    streams.map((stream) => client.resetCode(stream)),
    [undefined, undefined],
  );
});

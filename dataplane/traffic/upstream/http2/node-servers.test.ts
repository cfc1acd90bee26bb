import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { FLAG, FRAME, Frames } from '../../testing/http2/frames.ts';
import { Http2Client, Http2UpstreamFixture, h2c } from '../../testing/http2/upstream.ts';
import { eventually } from '../../testing/proxy/test-proxy.ts';

/** A server of Node that sends as many bytes as the path says, without their length, and ends the response once it has. */
const serving = () =>
  Http2UpstreamFixture.serving(
    ({ stream, field }) => {
      stream.respond({ ':status': 200 });
      stream.write(Buffer.alloc(Number(field(':path')?.slice(1))), () => stream.end());
    },
    { maxSessionMemory: 1_000 },
  );

test('many large responses without a length at once arrive complete from a Node server, which resets one that it cannot end at once', async () => {
  using upstream = await serving();
  using proxy = await h2c(upstream);
  using client = new Http2Client(proxy);
  const answers = await Promise.all(Array.from({ length: 100 }, () => client.request({ ':path': '/300000' })));
  assert.deepEqual([...new Set(answers.map(({ body }) => body.length))], [300_000]);
  assert.deepEqual(proxy.targetChanges(), []);
});

for (const size of [65_535, 65_536, 131_072, 262_144, 524_288, 1_048_576])
  test(`a response of ${size} bytes without a length arrives complete from a Node server`, async () => {
    using upstream = await serving();
    using proxy = await h2c(upstream);
    using client = new Http2Client(proxy);
    assert.equal((await client.request({ ':path': `/${size}` })).body.length, size);
  });

test('a Node server that turns requests of a burst away completes the others, because it does not end their connection', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200 });
    stream.end(Buffer.alloc(300_000));
  });
  using proxy = await h2c(upstream);
  using one = new Http2Client(proxy);
  using other = new Http2Client(proxy);
  const asked = [one, other].flatMap((client) => Array.from({ length: 110 }, () => client.request({})));
  const answers = await Promise.all(asked);
  assert.deepEqual([...new Set(answers.map(({ status, body }) => (status === 503 ? 300_000 : body.length)))], [300_000]);
  assert.ok(answers.filter(({ status }) => status === 200).length > 100);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a target without a limit of its own gets a hundred requests on a connection until it has accepted some of them', async () => {
  using target = await FrameTargetFixture.serving(() => undefined);
  using proxy = await h2c(target);
  using client = (await Frames.plain(proxy.port)).greet();
  using other = (await Frames.plain(proxy.port)).greet();
  const requests = (): string => target.connections.map((one) => one.received.filter(({ type }) => type === FRAME.headers).length).join();
  for (let nth = 0; nth < 75; nth++) for (const each of [client, other]) each.request(2 * nth + 1);
  await eventually('the requests', () => requests() === '100,50');
  const [first] = target.connections;
  for (const { stream } of first?.received.filter(({ type }) => type === FRAME.headers) ?? [])
    first?.send(FRAME.headers, FLAG.endHeaders, stream, Buffer.of(0x88));
  await client.until('the responses to begin', () => client.received.some(({ type }) => type === FRAME.headers));
  await first?.answered();
  for (let nth = 75; nth < 100; nth++) client.request(2 * nth + 1);
  await eventually('further requests', () => requests() === '125,50');
});

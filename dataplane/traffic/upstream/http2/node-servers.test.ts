import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Http2Client, Http2UpstreamFixture, h2c } from '../../testing/http2/upstream.ts';

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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FLAG, FRAME, Frames, frame, head } from '../../testing/http2/frames.ts';
import { ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../../testing/test-upstream.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'.repeat(40);
const tiny = (text: string): Buffer => Buffer.concat([...text].map((letter) => frame(FRAME.data, 0, 1, letter)));

async function startUpload(proxy: ProxyFixture, upstream: UpstreamFixture) {
  const client = (await Frames.plain(proxy.port)).greet().request(1, head([':method', 'POST']), 0);
  const wire = await upstream.accept();
  await wire.readHead();
  return { client, wire };
}

test('a body in one-byte frames reaches the upstream in few chunks, complete and in order', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const { client, wire } = await startUpload(proxy, upstream);
  const large = 'L'.repeat(2_000);
  client.write(Buffer.concat([tiny(LETTERS), frame(FRAME.data, 0, 1, large), tiny(LETTERS), frame(FRAME.data, FLAG.endStream, 1, 'end')]));
  const before = wire.total;
  const { body } = await wire.readChunked();
  assert.equal(body, `${LETTERS}${large}${LETTERS}end`);
  // With one chunk per byte, the body would be six times as long on the wire.
  assert.ok(wire.total - before < body.length * 2, `${wire.total - before} bytes for ${body.length}`);
  client.socket.destroy();
});

test('a single small frame is passed on immediately', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const { client, wire } = await startUpload(proxy, upstream);
  for (const letter of 'slowly') {
    client.write(tiny(letter));
    assert.equal(await wire.readThrough(`1\r\n${letter}\r\n`), `1\r\n${letter}\r\n`);
  }
  client.socket.destroy();
});

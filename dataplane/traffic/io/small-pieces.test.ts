import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { FLAG, FRAME, Frames, frame, head } from '../testing/frames.ts';
import { eventually, ProxyFixture } from '../testing/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';
import { coalesceSmallPieces } from './small-pieces.ts';

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

/** A stream of Node's HTTP/2 library whose small pieces are gathered, and the client that sends its body. */
async function gathered() {
  const server = createServer({ settings: { initialWindowSize: 262_144 } });
  const begun = once(server, 'stream');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = await Frames.plain((server.address() as AddressInfo).port);
  client
    .greet()
    .send(FRAME.settings, FLAG.ack, 0)
    .request(1, head([':method', 'POST']), 0);
  const [stream] = (await begun) as [ServerHttp2Stream];
  stream.on('error', () => undefined);
  stream.session?.setLocalWindowSize(1_048_576);
  coalesceSmallPieces(stream, assert.ifError);
  const pieces: string[] = [];
  return {
    client,
    stream,
    pieces,
    read: () => stream.on('data', (piece: Buffer) => pieces.push(piece.toString('latin1'))),
    [Symbol.dispose]: () => {
      client.socket.destroy();
      server.close();
    },
  };
}

test('one-byte frames that are not read yet are kept as one buffer, not as an object each', async () => {
  using under = await gathered();
  const { client, stream, pieces } = under;
  const body = LETTERS.repeat(40);
  client.write(tiny(body));
  await client.answered();
  assert.deepEqual(pieces, []);
  under.read();
  client.write(frame(FRAME.data, FLAG.endStream, 1, 'end'));
  await once(stream, 'end');
  assert.equal(pieces.join(''), `${body}end`);
  assert.ok(pieces.length <= 3, `${pieces.length} pieces for ${body.length} frames`);
});

test('a paused stream gathers small frames, keeps large ones in order, and delivers all of them on resume', async () => {
  using under = await gathered();
  const { client, stream, pieces } = under;
  const large = 'L'.repeat(2_000);
  under.read();
  client.write(tiny('a'));
  await once(stream, 'data');
  for (let round = 0; round < 3; round++) {
    stream.pause();
    client.write(Buffer.concat([tiny(LETTERS), frame(FRAME.data, 0, 1, large), tiny(LETTERS)]));
    await client.answered();
    const before = pieces.length;
    assert.equal(pieces.length, round * 3 + 1);
    stream.resume();
    await eventually('what was kept', () => pieces.length === before + 3);
    assert.deepEqual(pieces.slice(before), [LETTERS, large, LETTERS]);
  }
  client.write(frame(FRAME.data, FLAG.endStream, 1, 'z'));
  await once(stream, 'end');
  assert.equal(pieces.at(-1), 'z');
});

test('a client stopped by a full flow-control window continues as soon as its bytes are consumed', async () => {
  using under = await gathered();
  const { client, stream, pieces } = under;
  const body = LETTERS.repeat(50);
  client.write(tiny(body));
  await client.answered();
  const opened = client.of(1, FRAME.windowUpdate).length;
  for (let sent = body.length; sent < 250_000; sent += body.length) client.write(tiny(body));
  await client.answered();
  const held = client.of(1, FRAME.windowUpdate).length;
  assert.ok(held <= opened + 1, 'the stream requests no more than its own buffer holds');
  under.read();
  await client.until('the window to open', () => client.of(1, FRAME.windowUpdate).length > held);
  client.write(frame(FRAME.data, FLAG.endStream, 1, 'z'));
  await once(stream, 'end');
  assert.equal(pieces.join('').length, Math.ceil(250_000 / body.length) * body.length + 1);
});

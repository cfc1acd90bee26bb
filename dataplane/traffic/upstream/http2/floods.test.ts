// Runs alone: it measures the memory of its process.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { block, type Field, FLAG, FRAME, type Frames, frame, word } from '../../testing/http2/frames.ts';
import { h2c } from '../../testing/http2/upstream.ts';
import { eventually, get } from '../../testing/proxy/test-proxy.ts';

const MEGABYTE = 1_000_000;
const OK: Field = [':status', '200'];

const times = (count: number, make: () => Buffer): Buffer => Buffer.concat(Array.from({ length: count }, make));
const head = (stream: number, flags: number, ...fields: readonly Field[]): Buffer => frame(FRAME.headers, flags, stream, block(fields));

/** Sends piece after piece for as long as the proxy accepts it. @returns the bytes that it accepted. */
async function flood({ socket }: Frames, maxBytes: number, piece: Buffer): Promise<number> {
  const closed = new Promise((resolve) => socket.once('close', resolve));
  let sent = 0;
  while (!socket.destroyed && sent < maxBytes) {
    sent += piece.length;
    if (!socket.write(piece)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    else await new Promise((resolve) => setImmediate(resolve));
  }
  return sent;
}

/** What a target sends on the first request's stream, and then again and again. */
type Flood = readonly [what: string, begin: (stream: number) => Buffer, piece: (stream: number) => Buffer];
const nothing = (): Buffer => Buffer.alloc(0);
const begun = (stream: number): Buffer => head(stream, FLAG.endHeaders, OK);

/** A proxy whose target floods it on the first request, and answers all others. */
async function flooded({ 1: begin, 2: piece }: Flood): Promise<{ sent: number; bytes: number; connections: number }> {
  const floods: Promise<number>[] = [];
  using target = await FrameTargetFixture.serving((connection, stream) => {
    if (floods.length > 0) return connection.write(Buffer.concat([begun(stream), frame(FRAME.data, FLAG.endStream, stream, 'x')]));
    connection.write(begin(stream));
    floods.push(
      flood(
        connection,
        2 * MEGABYTE,
        times(500, () => piece(stream)),
      ),
    );
  });
  using proxy = await h2c(target);
  const before = process.memoryUsage().external;
  const client = await proxy.connect();
  client.send(get());
  await eventually('the flood', () => floods.length === 1);
  const sent = (await floods[0]) ?? 0;
  const bytes = process.memoryUsage().external - before;
  assert.equal((await proxy.request(get())).body, 'x');
  client.socket.resetAndDestroy();
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
  return { sent, bytes, connections: target.connections.length };
}

const DISCONNECTED: readonly Flood[] = [
  ['continuations', (stream) => head(stream, 0, OK), (stream) => frame(FRAME.continuation, 0, stream, block([['x', 'y']]))],
  ['empty continuations', (stream) => head(stream, 0, OK), (stream) => frame(FRAME.continuation, 0, stream)],
  ['empty pieces of a body', begun, (stream) => frame(FRAME.data, 0, stream)],
  ['pieces of a body that are all padding', begun, (stream) => frame(FRAME.data, FLAG.padded, stream, Buffer.from([0]))],
  ['interim responses', nothing, (stream) => head(stream, FLAG.endHeaders, [':status', '103'])],
  ['priorities', nothing, (stream) => frame(FRAME.priority, 0, stream, Buffer.alloc(5))],
  ['frames of no known type', nothing, () => frame(99, 0, 0)],
];
const BORNE: readonly Flood[] = [
  ['pings', nothing, () => frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
  ['settings', nothing, () => frame(FRAME.settings, 0, 0)],
  ['GOAWAY frames', nothing, () => frame(FRAME.goAway, 0, 0, Buffer.concat([word(2 ** 31 - 1), word(0)]))],
  ['windows that open byte by byte', nothing, () => frame(FRAME.windowUpdate, 0, 0, word(1))],
];

describe('a target is disconnected that floods with', () => {
  for (const row of DISCONNECTED)
    test(row[0], async () => {
      const { sent, bytes, connections } = await flooded(row);
      assert.ok(sent < 2 * MEGABYTE, `${sent} bytes were accepted`);
      assert.ok(bytes < 10 * MEGABYTE, `${bytes} bytes`);
      assert.equal(connections, 2);
    });
});

describe('nothing is buffered, whether the target is disconnected or not, when it floods with', () => {
  for (const row of BORNE)
    test(row[0], async () => {
      const { bytes } = await flooded(row);
      assert.ok(bytes < 10 * MEGABYTE, `${bytes} bytes`);
    });
});

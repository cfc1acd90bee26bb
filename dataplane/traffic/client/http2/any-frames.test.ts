import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SampleRandom } from '../../codec/http1/oracle/testing/sample-random.ts';
import { block, type Field, FLAG, FRAME, type Frames, frame, head, INITIAL_WINDOW, word } from '../../testing/http2/frames.ts';
import { SecureFixture } from '../../testing/proxy/secure-proxy.ts';
import { eventually } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

const CONNECTIONS = 150;

type NonEmpty<T> = readonly [T, ...T[]];

const ANSWERS: NonEmpty<string> = [
  ok('hello'),
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\nX-T: 2\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\nETag: "a"\r\nETag: "b"\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc',
  'HTTP/1.1 304 Not Modified\r\n\r\n',
  'HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n',
  ok('y'.repeat(300_000)),
];
const METHODS = ['GET', 'GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', 'CONNECT'] as const;
const MORE: NonEmpty<readonly Field[]> = [
  [],
  [],
  [['host', 'b.test']],
  [['content-length', '5']],
  [['expect', '100-continue']],
  [['cookie', 'a']],
  [['x', 'a\nb']],
];

const pick = <T>(random: SampleRandom, from: NonEmpty<T>): T => from[random.below(from.length)] ?? from[0];

/** One frame, usually valid, for an existing stream or the next one. */
function anyFrame(random: SampleRandom, next: number): Buffer {
  const stream = random.below(3) === 0 || next === 1 ? next : 1 + 2 * random.below((next - 1) / 2);
  switch (random.below(8)) {
    case 0:
      return frame(FRAME.data, random.below(4) === 0 ? FLAG.endStream : 0, stream, Buffer.alloc(pick(random, [0, 5, 1_000, 16_384])));
    case 1:
      return frame(FRAME.reset, 0, stream, word(random.below(14)));
    case 2:
      return frame(FRAME.windowUpdate, 0, pick(random, [0, stream]), word(pick(random, [1, 1_000, 100_000])));
    case 3:
      return frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.from([0, random.below(9)]), word(pick(random, [0, 1, 16_384]))]));
    case 4:
      return frame(FRAME.ping, 0, 0, Buffer.alloc(8));
    default: {
      const fields = head([':method', pick(random, METHODS)], ...pick(random, MORE));
      return frame(FRAME.headers, FLAG.endHeaders | random.below(2), next, block(fields));
    }
  }
}

async function play(client: Frames, random: SampleRandom): Promise<void> {
  let next = 1;
  for (let count = random.below(30); count > 0 && client.socket.writable; count--) {
    const bytes = anyFrame(random, next);
    if (bytes[3] === FRAME.headers) next += 2;
    client.write(bytes);
    if (random.below(3) === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  if (random.below(2) === 0) client.socket.destroy();
  else client.socket.end();
}

test('random frames in any order, with any responses to them, neither harm a worker nor leak anything', async () => {
  const random = new SampleRandom(22);
  using upstream = await UpstreamFixture.serving((_request, wire) => {
    if (random.below(6) > 0) return pick(random, ANSWERS);
    wire.send(pick(random, ANSWERS));
    wire.reset();
    return null;
  });
  using secure = await SecureFixture.before(upstream);
  for (let at = 0; at < CONNECTIONS; at++) {
    await play(await secure.greeted([INITIAL_WINDOW, pick(random, [0, 1, 65_535, 1_000_000])]), random);
    if (random.below(20) === 0) secure.proxy.clock.pass(30_000);
  }
  const { ledger, clock } = secure.proxy;
  await eventually('nothing to be left', () => {
    clock.pass(10_000);
    return ledger.inFlight.total() === 0 && ledger.connections.open() === 0;
  });
  assert.ok(upstream.requests.length > 0);
  const client = await secure.greeted();
  client.request(1);
  await client.until('an answer', () => client.status(1) !== undefined);
});

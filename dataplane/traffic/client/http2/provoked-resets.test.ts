import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { block, CODE, type Field, FLAG, FRAME, Frames, frame, head, word } from '../../testing/http2/frames.ts';
import { eventually, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

/** Below the maximum number of concurrent requests of a client. */
const BATCH = 100;
const MAX_BATCHES = 12;
/** A stream error may be treated as one of the connection (RFC 9113 5.4.2), which bounds it even better. */
const CODES: readonly number[] = [CODE.calm, CODE.protocol, CODE.flowControl, CODE.frameSize, CODE.streamClosed];

const LARGEST_WINDOW = 2 ** 31 - 1;
const POST: Field = [':method', 'POST'];
const request = (stream: number, flags: number, ...fields: readonly Field[]): Buffer =>
  frame(FRAME.headers, FLAG.endHeaders | flags, stream, block(head([':path', '/unanswered'], ...fields)));
const get = (stream: number): Buffer => request(stream, FLAG.endStream);
const post = (stream: number): Buffer => request(stream, 0, POST);

type Provocation = readonly [what: string, request: (stream: number) => Buffer, provocation: (stream: number) => Buffer];

/** What makes a server reset a stream after its request has been forwarded (CVE-2025-8671). */
const PROVOCATIONS: readonly Provocation[] = [
  ['a window that opens by nothing', get, (stream) => frame(FRAME.windowUpdate, 0, stream, word(0))],
  ['a window that opens beyond its limit', get, (stream) => frame(FRAME.windowUpdate, 0, stream, word(LARGEST_WINDOW))],
  ['DATA after the end of the request', get, (stream) => frame(FRAME.data, FLAG.endStream, stream, 'more')],
  ['HEADERS after the end of the request', get, get],
  ['a PRIORITY frame that is too short', get, (stream) => frame(FRAME.priority, 0, stream, Buffer.alloc(4))],
  [
    'a PRIORITY frame that makes a stream depend on itself',
    get,
    (stream) => frame(FRAME.priority, 0, stream, Buffer.concat([word(stream), Buffer.alloc(1)])),
  ],
  [
    'a body that is longer than its content-length',
    (stream) => request(stream, 0, POST, ['content-length', '100000']),
    (stream) => Buffer.concat(Array.from({ length: 7 }, () => frame(FRAME.data, 0, stream, Buffer.alloc(16_384)))),
  ],
  ['trailers that do not end the stream', post, (stream) => frame(FRAME.headers, FLAG.endHeaders, stream, block([['x-sum', '7']]))],
  ['trailers with a pseudo-header field', post, (stream) => frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, block([POST]))],
];

describe('a client is disconnected before the requests that it has the proxy reset amount to anything:', () => {
  for (const [what, request, provocation] of PROVOCATIONS)
    test(what, async () => {
      using upstream = await UpstreamFixture.serving(({ line }) => (line.includes('/unanswered') ? null : ok('x')));
      using proxy = await ProxyFixture.before(upstream);
      const { inFlight } = proxy.ledger;
      const client = (await Frames.plain(proxy.port)).greet();
      await client.answered();
      let batches = 0;
      for (; batches < MAX_BATCHES && !client.closed; batches++) {
        const streams = Array.from({ length: BATCH }, (_, at) => 2 * (batches * BATCH + at) + 1);
        client.write(Buffer.concat(streams.map(request)));
        await eventually('the requests', () => client.closed || inFlight.total() === BATCH);
        client.write(Buffer.concat(streams.map(provocation)));
        await eventually('their end', () => inFlight.total() === 0);
      }
      await client.until('the end', () => client.closed);
      // A connection that is closed with bytes unread is reset, and the reason may be lost.
      assert.ok(CODES.includes(client.goneCode ?? CODE.calm), `GOAWAY with ${client.goneCode}`);
      // Cancelled requests occupy no connection to the target.
      assert.ok(upstream.connections.filter(({ closed, ended }) => !closed && !ended).length <= BATCH);
      const other = (await Frames.plain(proxy.port)).greet().request(1);
      await other.until('an answer', () => other.status(1) === 200);
      other.socket.destroy();
    });
});

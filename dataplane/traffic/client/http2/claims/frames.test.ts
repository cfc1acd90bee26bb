import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered, anyError, ask, claims, connectionError, forwarded, ignored, POST, UNANSWERED } from '../../../testing/http2/claims.ts';
import { block, CODE, FLAG, FRAME, Frames, frame, head, MAX_FRAME, SETTING, word } from '../../../testing/http2/frames.ts';
import { SecureFixture } from '../../../testing/proxy/secure-proxy.ts';

const { protocol, frameSize, flowControl, compression } = CODE;
const PING = Buffer.from('opaque 8');
const BLOCK = block(head());
/** A type that no document defines. */
const UNKNOWN = 0x2f;

test('SETTINGS are the first frame of the server, and acknowledge those of the client (RFC 9113 3.4, 6.5.3)', async () => {
  using secure = await SecureFixture.of([]);
  for (const client of [await secure.connect(), await Frames.plain(secure.proxy.port)]) {
    client.greet();
    await client.until('both', () => client.of(0, FRAME.settings).length === 2);
    const [{ type, flags } = {}] = client.received;
    assert.deepEqual([type, flags], [FRAME.settings, 0]);
    assert.deepEqual(
      client.of(0, FRAME.settings).map(({ flags }) => flags),
      [0, FLAG.ack],
    );
    client.socket.destroy();
  }
});

test('a connection that begins with anything but the preface is closed (RFC 9113 3.4)', async () => {
  using secure = await SecureFixture.of([]);
  const client = await secure.connect();
  client.write('SOME OTHER PROTOCOL\r\n\r\n');
  await client.until('the end', () => client.closed);
});

claims('frames (RFC 9113 4.1, 4.2, 5.5):', [
  ['a frame of an unknown type is ignored', (client) => client.send(UNKNOWN, 0, 0, PING), ignored],
  ['so is one of an unknown type on a stream that is idle', (client) => client.send(UNKNOWN, 0xff, 1, PING), ignored],
  ['flags that a frame does not define are ignored', (client) => client.send(FRAME.ping, 0xfe, 0, PING), ignored],
  [
    'the reserved bit of a stream identifier is ignored',
    (client) => client.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 0x80000001, BLOCK),
    answered(),
  ],
  ['a DATA frame may have 16,384 bytes', (client) => ask(client, 1, [POST], 'x'.repeat(MAX_FRAME)), forwarded('x'.repeat(MAX_FRAME))],
  ['a larger one may not', (client) => ask(client, 1, [POST], 'x'.repeat(MAX_FRAME + 1)), anyError(1, frameSize)],
  [
    'a larger HEADERS frame ends the connection',
    (client) => client.request(1, head(['x', 'x'.repeat(MAX_FRAME)])),
    connectionError(frameSize),
  ],
  [
    'a frame of an unknown type within a header block ends the connection',
    (client) => client.send(FRAME.headers, FLAG.endStream, 1, BLOCK).send(UNKNOWN, 0, 0, PING),
    connectionError(protocol),
  ],
]);

claims('DATA (RFC 9113 6.1):', [
  [
    'in several frames is one body',
    (client) => client.request(1, head(POST), 0).send(FRAME.data, 0, 1, 'one ').send(FRAME.data, FLAG.endStream, 1, 'body'),
    forwarded('one body'),
  ],
  [
    'may be padded',
    (client) => client.request(1, head(POST), 0).send(FRAME.data, FLAG.padded | FLAG.endStream, 1, '\x05body\0\0\0\0\0'),
    forwarded(/4\r\nbody|\r\n\r\nbody|body/),
  ],
  ['on stream 0 ends the connection', (client) => client.send(FRAME.data, FLAG.endStream, 0, 'body'), connectionError(protocol)],
  [
    'with more padding than there is payload ends the connection',
    (client) => client.request(1, head(POST, ['content-length', '4']), 0).send(FRAME.data, FLAG.padded | FLAG.endStream, 1, '\x06body'),
    connectionError(protocol),
  ],
  [
    'that is padded but empty ends the connection',
    (client) => client.request(1, head(POST), 0).send(FRAME.data, FLAG.padded | FLAG.endStream, 1),
    connectionError(frameSize, protocol),
  ],
]);

const HEADERS = FLAG.endHeaders | FLAG.endStream;
const PRIORITY = Buffer.from([0, 0, 0, 0, 255]);
claims('HEADERS (RFC 9113 6.2):', [
  [
    'may be padded',
    (client) => client.send(FRAME.headers, HEADERS | FLAG.padded, 1, Buffer.concat([Buffer.from([8]), BLOCK, Buffer.alloc(8)])),
    answered(),
  ],
  ['may have a priority', (client) => client.send(FRAME.headers, HEADERS | FLAG.priority, 1, Buffer.concat([PRIORITY, BLOCK])), answered()],
  [
    'may have both',
    (client) =>
      client.send(
        FRAME.headers,
        HEADERS | FLAG.priority | FLAG.padded,
        1,
        Buffer.concat([Buffer.from([3]), PRIORITY, BLOCK, Buffer.alloc(3)]),
      ),
    answered(),
  ],
  ['on stream 0 end the connection', (client) => client.send(FRAME.headers, HEADERS, 0, BLOCK), connectionError(protocol)],
  [
    'with more padding than there is payload end the connection',
    (client) => client.send(FRAME.headers, HEADERS | FLAG.padded, 1, Buffer.concat([Buffer.from([BLOCK.length + 1]), BLOCK])),
    connectionError(protocol),
  ],
  [
    'too short for the priority that their flags announce end the connection',
    (client) => client.send(FRAME.headers, HEADERS | FLAG.priority, 1, PRIORITY.subarray(1)),
    connectionError(frameSize, protocol),
  ],
  [
    'that depend on their own stream are an error (RFC 7540 5.3.1)',
    (client) => client.send(FRAME.headers, HEADERS | FLAG.priority, 1, Buffer.concat([Buffer.from([0, 0, 0, 1, 255]), BLOCK])),
    anyError(1, protocol),
  ],
  [
    'without END_HEADERS may not be followed by PRIORITY',
    (client) => client.send(FRAME.headers, FLAG.endStream, 1, BLOCK).send(FRAME.priority, 0, 1, PRIORITY),
    connectionError(protocol),
  ],
  [
    'nor by HEADERS of another stream',
    (client) => client.send(FRAME.headers, FLAG.endStream, 1, BLOCK).request(3),
    connectionError(protocol),
  ],
  ['nor by PING', (client) => client.send(FRAME.headers, FLAG.endStream, 1, BLOCK).send(FRAME.ping, 0, 0, PING), connectionError(protocol)],
]);

const split = (...pieces: readonly Buffer[]): Buffer =>
  Buffer.concat(
    pieces.map((piece, at) =>
      frame(
        at === 0 ? FRAME.headers : FRAME.continuation,
        at === pieces.length - 1 ? FLAG.endHeaders : at === 0 ? FLAG.endStream : 0,
        1,
        piece,
      ),
    ),
  );
const MORE = block([['x-more', 'y']]);
claims('CONTINUATION (RFC 9113 6.10):', [
  ['continues a header block', (client) => client.write(split(BLOCK.subarray(0, 5), BLOCK.subarray(5))), answered()],
  [
    'may come several times',
    (client) => client.write(split(BLOCK.subarray(0, 5), BLOCK.subarray(5, 6), BLOCK.subarray(6), MORE)),
    forwarded('x-more: y'),
  ],
  ['may be empty', (client) => client.write(split(BLOCK.subarray(0, 5), Buffer.alloc(0), BLOCK.subarray(5))), answered()],
  [
    'followed by another frame ends the connection',
    (client) => client.send(FRAME.headers, 0, 1, BLOCK).send(FRAME.continuation, 0, 1, MORE).send(FRAME.data, FLAG.endStream, 1, 'body'),
    connectionError(protocol),
  ],
  [
    'on stream 0 ends the connection',
    (client) => client.send(FRAME.headers, FLAG.endStream, 1, BLOCK).send(FRAME.continuation, FLAG.endHeaders, 0, MORE),
    connectionError(protocol),
  ],
  [
    'on another stream ends the connection',
    (client) => client.send(FRAME.headers, FLAG.endStream, 1, BLOCK).send(FRAME.continuation, FLAG.endHeaders, 3, MORE),
    connectionError(protocol),
  ],
  [
    'after HEADERS with END_HEADERS ends the connection',
    (client) => client.request(1, head(UNANSWERED)).send(FRAME.continuation, FLAG.endHeaders, 1, MORE),
    connectionError(protocol, CODE.streamClosed),
  ],
  [
    'after CONTINUATION with END_HEADERS ends the connection',
    (client) =>
      client
        .send(FRAME.headers, FLAG.endStream, 1, block(head(UNANSWERED)))
        .send(FRAME.continuation, FLAG.endHeaders, 1, MORE)
        .send(FRAME.continuation, FLAG.endHeaders, 1, MORE),
    connectionError(protocol, CODE.streamClosed),
  ],
  [
    'after DATA ends the connection',
    (client) => client.request(1, head(POST), 0).send(FRAME.data, 0, 1, 'body').send(FRAME.continuation, FLAG.endHeaders, 1, MORE),
    connectionError(protocol),
  ],
]);

claims('PRIORITY (RFC 9113 6.3):', [
  ...[
    ['of an idle stream', 1, PRIORITY],
    ['with the least weight', 1, Buffer.alloc(5)],
    ['with a dependency', 3, Buffer.from([0, 0, 0, 1, 0])],
    ['that is exclusive', 1, Buffer.from([0x80, 0, 0, 0, 0])],
    ['of a stream beyond the next', 3, PRIORITY],
  ].map(
    ([what, stream, payload]) =>
      [
        `${what} is ignored, and its streams open as usual`,
        (client: Frames) => client.send(FRAME.priority, 0, Number(stream), payload as Buffer).request(1),
        answered(),
      ] as const,
  ),
  ['on stream 0 ends the connection', (client) => client.send(FRAME.priority, 0, 0, PRIORITY), connectionError(protocol)],
  [
    'of any size but 5 bytes is an error',
    (client) => client.request(1, head(UNANSWERED)).send(FRAME.priority, 0, 1, Buffer.alloc(4)),
    anyError(1, frameSize),
  ],
  [
    'of a stream that depends on itself is an error (RFC 7540 5.3.1)',
    (client) => client.send(FRAME.priority, 0, 1, Buffer.from([0, 0, 0, 1, 255])),
    anyError(1, protocol),
  ],
]);

claims('RST_STREAM (RFC 9113 6.4):', [
  [
    'ends a request whose body has not ended',
    (client) => client.request(1, head(POST), 0).send(FRAME.reset, 0, 1, word(CODE.cancel)),
    ignored,
  ],
  [
    'ends a request that waits for its response',
    (client) => client.request(1, head(UNANSWERED)).send(FRAME.reset, 0, 1, word(CODE.cancel)),
    ignored,
  ],
  [
    'may have a code that is unknown (RFC 9113 7)',
    (client) => client.request(1, head(UNANSWERED)).send(FRAME.reset, 0, 1, word(0xff)),
    ignored,
  ],
  ['on stream 0 ends the connection', (client) => client.send(FRAME.reset, 0, 0, word(CODE.cancel)), connectionError(protocol)],
  ['of an idle stream ends the connection', (client) => client.send(FRAME.reset, 0, 1, word(CODE.cancel)), connectionError(protocol)],
  [
    'of any size but 4 bytes ends the connection',
    (client) => client.request(1, head(UNANSWERED)).send(FRAME.reset, 0, 1, Buffer.alloc(3)),
    connectionError(frameSize),
  ],
]);

const acknowledged = async (client: Frames): Promise<void> => {
  await client.answered();
  assert.deepEqual(
    client.of(0, FRAME.settings).map(({ flags }) => flags),
    [0, FLAG.ack, FLAG.ack],
  );
};
claims('SETTINGS (RFC 9113 6.5):', [
  [
    'of every kind are acknowledged',
    (client) =>
      client.settings(
        [SETTING.headerTableSize, 4_096],
        [SETTING.enablePush, 1],
        [SETTING.maxConcurrentStreams, 100],
        [SETTING.initialWindow, 65_535],
        [SETTING.maxFrameSize, MAX_FRAME],
        [SETTING.maxHeaderListSize, 100],
      ),
    acknowledged,
  ],
  ['may be empty', (client) => client.settings(), acknowledged],
  ['that are unknown are ignored', (client) => client.settings([0xff, 1]), acknowledged],
  ['on a stream end the connection', (client) => client.send(FRAME.settings, 0, 1, Buffer.alloc(0)), connectionError(protocol)],
  [
    'of a size that is not a multiple of 6 bytes end the connection',
    (client) => client.send(FRAME.settings, 0, 0, Buffer.alloc(3)),
    connectionError(frameSize),
  ],
  ['that acknowledge may have no payload', (client) => client.send(FRAME.settings, FLAG.ack, 0, '\0'), connectionError(frameSize)],
  ['ENABLE_PUSH beyond 1 ends the connection', (client) => client.settings([SETTING.enablePush, 2]), connectionError(protocol)],
  [
    'INITIAL_WINDOW_SIZE beyond 2^31-1 ends the connection',
    (client) => client.settings([SETTING.initialWindow, 2 ** 31]),
    connectionError(flowControl),
  ],
  [
    'MAX_FRAME_SIZE below 2^14 ends the connection',
    (client) => client.settings([SETTING.maxFrameSize, MAX_FRAME - 1]),
    connectionError(protocol),
  ],
  [
    'MAX_FRAME_SIZE beyond 2^24-1 ends the connection',
    (client) => client.settings([SETTING.maxFrameSize, 2 ** 24]),
    connectionError(protocol),
  ],
]);

const echoed = async (client: Frames): Promise<void> => {
  await client.until('the answer', () => client.of(0, FRAME.ping).length === 2);
  const [, { flags, payload } = {}] = client.of(0, FRAME.ping);
  assert.deepEqual([flags, payload?.toString()], [FLAG.ack, PING.toString()]);
};
claims('PING (RFC 9113 6.7):', [
  ['is answered with the same payload', (client) => client.send(FRAME.ping, 0, 0, PING), echoed],
  [
    'that answers a PING is not answered',
    (client) => client.send(FRAME.ping, FLAG.ack, 0, Buffer.from('another!')).send(FRAME.ping, 0, 0, PING),
    echoed,
  ],
  ['on a stream ends the connection', (client) => client.send(FRAME.ping, 0, 1, PING), connectionError(protocol)],
  ['of any size but 8 bytes ends the connection', (client) => client.send(FRAME.ping, 0, 0, Buffer.alloc(6)), connectionError(frameSize)],
]);

const endedOrAnswered = async (client: Frames): Promise<void> => {
  await client.until('the answer or the end', () => client.closed || client.of(0, FRAME.ping).length === 2);
};
claims('GOAWAY (RFC 9113 6.8, 7):', [
  ['is not an error', (client) => client.send(FRAME.goAway, 0, 0, Buffer.alloc(8)).send(FRAME.ping, 0, 0, PING), endedOrAnswered],
  [
    'with an unknown code is not an error',
    (client) => client.send(FRAME.goAway, 0, 0, Buffer.concat([word(0), word(0xff)])).send(FRAME.ping, 0, 0, PING),
    endedOrAnswered,
  ],
  ['on a stream ends the connection', (client) => client.send(FRAME.goAway, 0, 1, Buffer.alloc(8)), connectionError(protocol)],
  [
    'leaves open requests their answers',
    (client) => ask(client, 1).send(FRAME.goAway, 0, 0, Buffer.alloc(8)),
    async (client) => client.until('an answer', () => client.status(1) === 200),
  ],
]);

claims('PUSH_PROMISE (RFC 9113 8.4):', [
  [
    'from a client ends the connection',
    (client) => client.send(FRAME.pushPromise, FLAG.endHeaders, 1, Buffer.concat([word(3), BLOCK])),
    connectionError(protocol),
  ],
]);

claims('a header block (RFC 9113 4.3):', [
  ['that is not decodable ends the connection', (client) => client.send(FRAME.headers, HEADERS, 1, '\x40'), connectionError(compression)],
]);

import assert from 'node:assert/strict';
import {
  answered,
  anyError,
  ask,
  claims,
  complete,
  connectionError,
  ignored,
  POST,
  streamError,
  UNANSWERED,
} from '../../../testing/http2/claims.ts';
import { block, CODE, FLAG, FRAME, type Frames, head, SETTING, word } from '../../../testing/http2/frames.ts';

const { protocol, streamClosed, flowControl, refused, cancel } = CODE;
const MORE = block([['x-more', 'y']]);
const PRIORITY = Buffer.from([0, 0, 0, 0, 255]);
const LARGEST = 2 ** 31 - 1;

/** Completes a request on stream 1. */
const closed = async (client: Frames): Promise<Frames> => {
  await complete(ask(client, 1), 1);
  return client;
};
const resetting = (client: Frames): Frames => ask(client, 1, [UNANSWERED]).send(FRAME.reset, 0, 1, word(cancel));

claims('a stream (RFC 9113 5.1)', [
  ['that is idle: DATA', (client) => client.send(FRAME.data, FLAG.endStream, 1, 'body'), connectionError(protocol, streamClosed)],
  ['that is idle: WINDOW_UPDATE', (client) => client.send(FRAME.windowUpdate, 0, 1, word(100)), connectionError(protocol)],
  ['that is idle: CONTINUATION', (client) => client.send(FRAME.continuation, FLAG.endHeaders, 1, MORE), connectionError(protocol)],
  [
    'whose request has ended: DATA',
    (client) => ask(client, 1, [UNANSWERED]).send(FRAME.data, FLAG.endStream, 1, 'body'),
    anyError(1, streamClosed),
  ],
  ['whose request has ended: HEADERS', (client) => ask(ask(client, 1, [UNANSWERED]), 1), anyError(1, streamClosed)],
  [
    'whose request has ended: WINDOW_UPDATE opens its window',
    (client) => ask(client.settings([SETTING.initialWindow, 0]), 1).send(FRAME.windowUpdate, 0, 1, word(5)),
    (client) => complete(client, 1),
  ],
  ['whose request has ended: PRIORITY is ignored', (client) => ask(client, 1, [UNANSWERED]).send(FRAME.priority, 0, 1, PRIORITY), ignored],
  ['that the client has reset: DATA', (client) => resetting(client).send(FRAME.data, FLAG.endStream, 1, 'body'), anyError(1, streamClosed)],
  ['that the client has reset: HEADERS', (client) => ask(resetting(client), 1), anyError(1, streamClosed)],
  [
    'that the client has reset: CONTINUATION',
    (client) => resetting(client).send(FRAME.continuation, FLAG.endHeaders, 1, MORE),
    connectionError(protocol, streamClosed),
  ],
  ['that is closed: DATA', async (client) => (await closed(client)).send(FRAME.data, FLAG.endStream, 1, 'body'), anyError(1, streamClosed)],
  ['that is closed: HEADERS', async (client) => ask(await closed(client), 1), connectionError(streamClosed, protocol)],
  [
    'that is closed: CONTINUATION',
    async (client) => (await closed(client)).send(FRAME.continuation, FLAG.endHeaders, 1, MORE),
    connectionError(protocol, streamClosed),
  ],
  ['that is closed: PRIORITY is ignored', async (client) => (await closed(client)).send(FRAME.priority, 0, 1, PRIORITY), ignored],
  [
    'that is closed: WINDOW_UPDATE and RST_STREAM, which were on their way, are ignored',
    async (client) => (await closed(client)).send(FRAME.windowUpdate, 0, 1, word(5)).send(FRAME.reset, 0, 1, word(cancel)),
    ignored,
  ],
]);

claims('stream identifiers (RFC 9113 5.1.1)', [
  ['are odd', (client) => ask(client, 2), connectionError(protocol)],
  ['grow', (client) => ask(ask(client, 5), 3), connectionError(protocol)],
  ['may be left out', (client) => ask(ask(client, 5), 2 ** 31 - 1), answered(2 ** 31 - 1)],
]);

const MAX_STREAMS = 128;
claims('concurrent streams (RFC 9113 5.1.2)', [
  [
    `are ${MAX_STREAMS}, as announced, and one more is refused`,
    (client) => {
      for (let at = 0; at <= MAX_STREAMS; at++) ask(client, 2 * at + 1, [UNANSWERED]);
    },
    async (client) => {
      const last = 2 * MAX_STREAMS + 1;
      await client.until('a refusal', () => client.closed || client.resetCode(last) !== undefined);
      assert.match(`${client.resetCode(last) ?? client.goneCode}`, new RegExp(`^(${protocol}|${refused})$`));
      assert.equal(client.resetCode(last - 2), undefined);
    },
  ],
]);

claims('a connection error (RFC 9113 5.4.1)', [
  [
    'is a GOAWAY that names the last stream, and the end',
    async (client) => (await closed(client)).send(FRAME.ping, 0, 3, Buffer.alloc(8)),
    async (client) => {
      await client.until('the end', () => client.closed);
      const [goAway] = client.of(0, FRAME.goAway);
      assert.deepEqual([goAway?.payload.readUInt32BE(0), goAway?.payload.readUInt32BE(4)], [1, protocol]);
    },
  ],
]);

const sizes = (client: Frames): number[] => client.of(1, FRAME.data).map(({ payload }) => payload.length);
/** What has come of the body after a PING that followed the window. */
const received =
  (...pieces: readonly number[]) =>
  async (client: Frames): Promise<void> => {
    await client.until('the body', () => sizes(client).length === pieces.length);
    await client.answered();
    assert.deepEqual(sizes(client), pieces);
  };

claims('WINDOW_UPDATE (RFC 9113 6.9)', [
  ['for the connection is taken', (client) => client.send(FRAME.windowUpdate, 0, 0, word(1)), ignored],
  ['for a stream is taken', (client) => ask(client, 1).send(FRAME.windowUpdate, 0, 1, word(1)), answered()],
  ['of 0 for the connection ends it', (client) => client.send(FRAME.windowUpdate, 0, 0, word(0)), connectionError(protocol)],
  [
    'of 0 for a stream is an error',
    (client) => ask(client, 1, [UNANSWERED]).send(FRAME.windowUpdate, 0, 1, word(0)),
    anyError(1, protocol),
  ],
  [
    'of any size but 4 bytes ends the connection',
    (client) => client.send(FRAME.windowUpdate, 0, 0, Buffer.alloc(3)),
    connectionError(CODE.frameSize),
  ],
  [
    'that opens the window of the connection beyond 2^31-1 ends it (6.9.1)',
    (client) => client.send(FRAME.windowUpdate, 0, 0, word(LARGEST)).send(FRAME.windowUpdate, 0, 0, word(LARGEST)),
    connectionError(flowControl),
  ],
  [
    'that opens the window of a stream beyond 2^31-1 ends the stream (6.9.1)',
    (client) =>
      client.request(1, head(POST), 0).send(FRAME.windowUpdate, 0, 1, word(LARGEST)).send(FRAME.windowUpdate, 0, 1, word(LARGEST)),
    streamError(1, flowControl),
  ],
]);

claims('the initial window of streams (RFC 9113 6.9.2)', [
  ['limits what is sent', (client) => ask(client.settings([SETTING.initialWindow, 1]), 1), received(1)],
  [
    'is the last of several in one frame (6.5.3)',
    (client) => ask(client.settings([SETTING.initialWindow, 100], [SETTING.initialWindow, 1]), 1),
    received(1),
  ],
  [
    'changes the windows of open streams, too',
    async (client) => {
      ask(client.settings([SETTING.initialWindow, 0]), 1);
      await client.until('the head', () => client.status(1) === 200);
      client.settings([SETTING.initialWindow, 1]);
    },
    received(1),
  ],
  [
    'may make a window negative, and nothing is sent until it is positive again',
    async (client) => {
      ask(client.settings([SETTING.initialWindow, 3]), 1);
      await client.until('three bytes', () => sizes(client).length === 1);
      client.settings([SETTING.initialWindow, 2]);
      await client.answered();
      client.send(FRAME.windowUpdate, 0, 1, word(1));
      await client.answered();
      client.send(FRAME.windowUpdate, 0, 1, word(1));
    },
    received(3, 1),
  ],
  [
    'that makes the window of an open stream larger than 2^31-1 ends the connection',
    (client) =>
      ask(client, 1, [UNANSWERED])
        .send(FRAME.windowUpdate, 0, 1, word(LARGEST - 65_535))
        .settings([SETTING.initialWindow, 65_536]),
    connectionError(flowControl),
  ],
]);

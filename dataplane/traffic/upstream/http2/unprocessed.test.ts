import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { CODE, FLAG, FRAME, Frames, head, SETTING, word } from '../../testing/http2/frames.ts';
import { h2c } from '../../testing/http2/upstream.ts';
import { eventually, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { MAX_SENT } from './sent-body.ts';

/** Status 204 (RFC 7541 appendix A). */
const NO_CONTENT = Buffer.of(0x89);
const POST = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n';
const INTERNAL = 2;

const answer = (target: Frames, stream: number) => target.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, NO_CONTENT);
const endAfter = (target: Frames, last: number, code: number) => target.send(FRAME.goAway, 0, 0, Buffer.concat([word(last), word(code)]));

test('requests that a target has not processed when it ends a connection with an error are sent again, and only those', async () => {
  using target = await FrameTargetFixture.serving((connection, stream) => {
    if (target.connections.length > 1) answer(connection, stream);
    else if (stream === 5) endAfter(connection, 1, INTERNAL);
  });
  using proxy = await h2c(target);
  const statuses: string[] = [];
  const requests: Promise<unknown>[] = [];
  for (const stream of [1, 3, 5]) {
    requests.push(proxy.request(POST).then(({ line }) => statuses.push(`${stream} ${line.split(' ')[1]}`)));
    await eventually('the request', () => target.connections.some(({ received }) => received.some((one) => one.stream === stream)));
  }
  await Promise.all(requests);
  assert.deepEqual(statuses.sort(), ['1 502', '3 204', '5 204']);
});

test('a request that makes a target end its connections with an error is not sent again and again, and blames no target', async () => {
  using target = await FrameTargetFixture.serving((connection, stream) =>
    target.connections.length === 1 && stream === 1 ? answer(connection, stream) : endAfter(connection, 0, CODE.calm),
  );
  using proxy = await h2c(target);
  assert.match((await proxy.request(POST)).line, / 204 /);
  assert.match((await proxy.request(POST)).line, / 503 /);
  assert.equal(target.connections.length, 2);
  assert.match((await proxy.request(POST)).line, / 503 /);
  assert.equal(target.connections.length, 3);
  assert.deepEqual(proxy.targetChanges(), []);
});

const CHUNKED = 'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
const bodyOf = ({ received }: Frames): string =>
  received.flatMap(({ type, payload }) => (type === FRAME.data ? [payload.toString('latin1')] : [])).join('');

test('a request whose body was sent as it arrived is sent again with its body', async () => {
  using target = await FrameTargetFixture.serving((connection, stream) => {
    if (target.connections.length > 1) answer(connection, stream);
    else endAfter(connection, 0, CODE.none);
  });
  using proxy = await h2c(target);
  assert.match((await proxy.request(CHUNKED)).line, / 204 /);
  assert.deepEqual(target.connections.map(bodyOf), ['hello', 'hello']);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('so is one whose body arrived in pieces', async () => {
  using target = await FrameTargetFixture.serving((connection, stream) => {
    if (target.connections.length > 1) answer(connection, stream);
    else endAfter(connection, 0, CODE.none);
  });
  using proxy = await h2c(target);
  const client = await proxy.connect();
  client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n');
  let sent = '';
  for (const piece of ['a', 'b'.repeat(30_000), 'c'.repeat(20_000), 'd']) {
    client.send(`${piece.length.toString(16)}\r\n${piece}\r\n`);
    sent += piece;
    await eventually('the piece', () => target.connections.some((connection) => bodyOf(connection) === sent));
  }
  client.send('0\r\n\r\n');
  assert.match((await client.readAnswer()).line, / 204 /);
  assert.deepEqual(target.connections.map(bodyOf), [sent, sent]);
});

test('such a request is sent again with its body also to a target that a newer table has for it and that speaks HTTP/1.1', async () => {
  using target = await FrameTargetFixture.serving(() => undefined);
  using added = await UpstreamFixture.serving(ok('added'));
  using proxy = await h2c(target);
  const client = await proxy.connect();
  client.send(CHUNKED);
  await eventually('the request', () => target.connections.some((connection) => bodyOf(connection) === 'hello'));
  await proxy.publish([site('a.test', added)]);
  target.refuse();
  const [first] = target.connections;
  if (first !== undefined) endAfter(first, 0, CODE.none);
  assert.equal((await client.readAnswer()).body, 'added');
  assert.equal(added.requests[0]?.body, 'hello');
});

for (const [what, length, piece, end] of [
  [
    'a request of which more is to come',
    'Transfer-Encoding: chunked',
    (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`,
    '0\r\n\r\n',
  ],
  ['an upload that has just begun', 'Content-Length: 100000', (text: string) => text, ''],
] as const) {
  const BEGINNING = 'hello'.repeat(1_000);
  const REST = 'x'.repeat(100_000 - BEGINNING.length);

  test(`${what} is sent again from its beginning, as often as it is not processed, and the rest follows`, async () => {
    using target = await FrameTargetFixture.serving(answer);
    using proxy = await h2c(target);
    const client = await proxy.connect();
    client.send(`POST / HTTP/1.1\r\nHost: a.test\r\n${length}\r\n\r\n${piece(BEGINNING)}`);
    for (const nth of [0, 1, 2]) {
      await eventually('its beginning', () => target.connections[nth] !== undefined && bodyOf(target.connections[nth]) === BEGINNING);
      if (nth < 2) endAfter(target.connections[nth] as Frames, 0, CODE.none);
    }
    const last = target.connections[2] as Frames;
    for (const stream of [0, 1]) last.send(FRAME.windowUpdate, 0, stream, word(REST.length));
    client.send(piece(REST) + end);
    assert.match((await client.readAnswer()).line, / 204 /);
    assert.equal(bodyOf(last), BEGINNING + REST);
    assert.deepEqual(proxy.targetChanges(), []);
  });

  test(`${what} is sent again also to a target that a newer table has for it and that speaks HTTP/1.1`, async () => {
    using target = await FrameTargetFixture.serving(() => undefined);
    using added = await UpstreamFixture.serving(ok('added'));
    using proxy = await h2c(target);
    const client = await proxy.connect();
    client.send(`POST / HTTP/1.1\r\nHost: a.test\r\n${length}\r\n\r\n${piece(BEGINNING)}`);
    await eventually('the request', () => target.connections.some((connection) => bodyOf(connection) === BEGINNING));
    await proxy.publish([site('a.test', added)]);
    target.refuse();
    endAfter(target.connections[0] as Frames, 0, CODE.none);
    client.send(piece(REST) + end);
    assert.equal((await client.readAnswer()).body, 'added');
    assert.equal(added.requests[0]?.body, BEGINNING + REST);
  });
}

test('so is a call of which more is to come, from a client over HTTP/2', async () => {
  using target = await FrameTargetFixture.serving(answer);
  using proxy = await h2c(target);
  using client = (await Frames.plain(proxy.port)).greet();
  client.request(1, head([':method', 'POST']), 0);
  client.send(FRAME.data, 0, 1, Buffer.from('one'));
  await eventually('its beginning', () => target.connections.some((connection) => bodyOf(connection) === 'one'));
  endAfter(target.connections[0] as Frames, 0, CODE.none);
  client.send(FRAME.data, 0, 1, Buffer.from('two'));
  await eventually('both', () => target.connections[1] !== undefined && bodyOf(target.connections[1]) === 'onetwo');
  client.send(FRAME.data, FLAG.endStream, 1, Buffer.from('three'));
  await client.until('the response', () => client.of(1, FRAME.headers).length > 0);
  assert.equal(bodyOf(target.connections[1] as Frames), 'onetwothree');
});

const UPLOAD = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\n';
/** More than a target accepts. */
const LARGE = Buffer.alloc(1_000_000, 'x');

test('a large upload is sent again, as often as it is not processed, if its target has not accepted more than the usual window', async () => {
  using target = await FrameTargetFixture.serving(answer);
  using proxy = await h2c(target);
  const client = await proxy.connect();
  client.send(UPLOAD);
  client.send(LARGE);
  for (const nth of [0, 1, 2, 3]) {
    // The window of a stream (RFC 9113 6.9.2).
    await eventually('its beginning', () => target.connections[nth] !== undefined && bodyOf(target.connections[nth]).length === 65_535);
    if (nth < 3) endAfter(target.connections[nth] as Frames, 0, CODE.none);
  }
  const last = target.connections[3] as Frames;
  for (const stream of [0, 1]) last.send(FRAME.windowUpdate, 0, stream, word(LARGE.length));
  assert.match((await client.readAnswer()).line, / 204 /);
  assert.equal(bodyOf(last), LARGE.toString());
});

test('one of which more was sent than is kept is not sent again', async () => {
  const accepted = MAX_SENT + 1;
  using target = await FrameTargetFixture.serving(() => undefined, [SETTING.initialWindow, accepted]);
  using proxy = await h2c(target);
  const client = await proxy.connect();
  client.send(UPLOAD);
  await eventually('the request', () => target.connections[0]?.received.some(({ type }) => type === FRAME.headers) === true);
  const connection = target.connections[0] as Frames;
  connection.send(FRAME.windowUpdate, 0, 0, word(accepted));
  client.send(LARGE);
  await eventually('its beginning', () => bodyOf(connection).length === accepted);
  endAfter(connection, 0, CODE.none);
  assert.match(await client.readHead(), / 502 /);
  assert.equal(target.connections.length, 1);
});

test('a connection that a target ends with REFUSED_STREAM as its error may have processed its requests, and none is sent twice', async () => {
  using target = await FrameTargetFixture.serving((connection, stream) => endAfter(connection, stream, CODE.refused));
  using other = await FrameTargetFixture.serving((connection, stream) => endAfter(connection, stream, CODE.refused));
  using proxy = await h2c(target, other);
  assert.match((await proxy.request(POST)).line, / 502 /);
  assert.equal(target.connections.length + other.connections.length, 1);
});

test('what a target had not processed when it ended a connection is known also if a write to that connection fails first', async (t) => {
  const piece = Buffer.alloc(100_000, 'x');
  let first = true;
  const other: { send?: () => void } = {};
  using target = await FrameTargetFixture.serving(
    (connection, stream) => {
      if (!first) return void answer(connection, stream);
      first = false;
      other.send?.();
      endAfter(connection, 1, CODE.none);
      connection.socket.resetAndDestroy();
    },
    [SETTING.initialWindow, 1_000_000],
  );
  using proxy = await h2c(target);
  const upload = await proxy.connect();
  t.after(() => upload.socket.destroy());
  upload.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\nx');
  await eventually('the upload', () => target.connections[0]?.received.some(({ type }) => type === FRAME.data) === true);
  target.connections[0]?.send(FRAME.windowUpdate, 0, 0, word(1_000_000));
  await target.connections[0]?.answered();
  // More than is gathered for one write, so it is written while the end of the connection is still unread.
  other.send = () => upload.send(piece);
  assert.match((await proxy.request(POST)).line, / 204 /);
});

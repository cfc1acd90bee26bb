import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { CODE, FLAG, FRAME, Frames, INITIAL_WINDOW, word } from '../../testing/http2/frames.ts';
import { Http2Client, Http2UpstreamFixture, h2c } from '../../testing/http2/upstream.ts';
import { eventually, get, type ProxyFixture, whenRead } from '../../testing/proxy/test-proxy.ts';

/** Statuses 200 and 204 (RFC 7541 appendix A). */
const [OK, NO_CONTENT] = [Buffer.of(0x88), Buffer.of(0x89)];

/** A target that turns the requests on its first connections away, and answers those on the others. */
const turningAway = (connections: number) => {
  const known: Frames[] = [];
  return FrameTargetFixture.serving((connection, stream) => {
    if (!known.includes(connection)) known.push(connection);
    if (known.indexOf(connection) < connections) connection.send(FRAME.reset, 0, stream, word(CODE.calm));
    else connection.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, NO_CONTENT);
  });
};

async function statuses(proxy: ProxyFixture, count: number, text = get()): Promise<string[]> {
  const seen: string[] = [];
  for (let nth = 0; nth < count; nth++) seen.push((await proxy.request(text)).line.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
  return seen;
}

test('a request that a target turns away is sent again over another connection, as are all later ones', async () => {
  using target = await turningAway(1);
  using proxy = await h2c(target);
  assert.deepEqual(await statuses(proxy, 3), ['204', '204', '204']);
  assert.equal(target.connections.length, 2);
  assert.equal(target.connections[0]?.received.filter(({ type }) => type === FRAME.headers).length, 1);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a request that may not be repeated is answered with 503, and later ones use another connection', async () => {
  using target = await turningAway(1);
  using proxy = await h2c(target);
  const post = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n';
  assert.deepEqual(await statuses(proxy, 3, post), ['503', '204', '204']);
});

test('if no other connection can be opened, the one on which requests were turned away is used', async () => {
  using target = await turningAway(1);
  using proxy = await h2c(target);
  const waits = proxy.request(get('/first'));
  await eventually('the connection', () => target.connections.length > 0);
  target.refuse();
  assert.match((await waits).line, / 503 /);
  assert.deepEqual(await statuses(proxy, 2), ['503', '503']);
  assert.equal(target.connections[0]?.received.filter(({ type }) => type === FRAME.headers).length, 6);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a target that turns all requests away gets no more connections than usual', async () => {
  using target = await turningAway(100);
  using proxy = await h2c(target);
  assert.deepEqual(await statuses(proxy, 20), Array(20).fill('503'));
  assert.equal(target.connections.length, 8);
});

test('a client that does not read large responses of a Node server keeps nobody else from it', async () => {
  const large = 14;
  using upstream = await Http2UpstreamFixture.serving(({ stream, field }) => {
    stream.respond({ ':status': 200 });
    stream.end(field(':path') === '/' ? Buffer.alloc(1_000_000) : 'small');
  });
  using proxy = await h2c(upstream);
  using client = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  for (let nth = 0; nth < large; nth++) {
    client.request(2 * nth + 1);
    await client.until('a response', () => client.of(2 * nth + 1, FRAME.headers).length > 0);
  }
  for (let nth = 0; nth < 120; nth++) assert.equal((await proxy.request(get('/small'))).body, 'small');
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a Node server answers also many requests at once for responses that fill its memory for a connection', async () => {
  using upstream = await Http2UpstreamFixture.serving(
    ({ stream }) => {
      stream.respond({ ':status': 200 });
      stream.end(Buffer.alloc(100_000));
    },
    { maxSessionMemory: 1 },
  );
  using proxy = await h2c(upstream);
  using client = new Http2Client(proxy);
  const answers = await Promise.all(Array.from({ length: 100 }, () => client.request({})));
  assert.deepEqual([...new Set(answers.map(({ status, body }) => `${status} ${body.length}`))], ['200 100000']);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a target that has turned a request away gets few at once on a connection, and more after a while', async () => {
  let calm = false;
  using target = await FrameTargetFixture.serving((connection, stream) => {
    if (!calm) connection.send(FRAME.reset, 0, stream, word(CODE.calm));
    calm = true;
  });
  using proxy = await h2c(target);
  using client = await Frames.plain(proxy.port);
  client.greet();
  const requests = (): number[] =>
    target.connections.map(({ received }) => received.filter(({ type }) => type === FRAME.headers).length).sort((a, b) => a - b);
  const few = 8;
  client.request(1);
  await eventually('the request to be sent again', () => requests().join() === '1,1');
  for (let nth = 1; nth < few + 1; nth++) client.request(2 * nth + 1);
  await eventually('the requests', () => requests().join() === `1,1,${few}`);
  proxy.clock.pass(5_000);
  await whenRead();
  for (let nth = few + 1; nth < 2 * few + 1; nth++) client.request(2 * nth + 1);
  await eventually('the requests', () => requests().at(-1) === 2 * few);
});

test('a target that turns a request away still gets as many at once as it has kept for a while without a response', async () => {
  const slow = 60;
  let arrived = 0;
  using target = await FrameTargetFixture.serving((connection, stream) => {
    if (++arrived === slow + 1) connection.send(FRAME.reset, 0, stream, word(CODE.calm));
  });
  using proxy = await h2c(target);
  using client = await Frames.plain(proxy.port);
  client.greet();
  const streams = Array.from({ length: 2 * slow + 1 }, (_, nth) => 2 * nth + 1);
  for (const stream of streams.slice(0, slow)) client.request(stream);
  await eventually('the requests', () => arrived === slow);
  proxy.clock.pass(1_000);
  for (const stream of streams.slice(slow, slow + 1)) client.request(stream);
  await eventually('the request to be sent again', () => arrived === slow + 2);
  for (const stream of streams.slice(slow + 1)) client.request(stream);
  await eventually('all requests', () => arrived === streams.length + 1);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a connection that a target ends because it has turned many requests away does not count against it', async () => {
  using target = await FrameTargetFixture.serving((connection, stream) => {
    if (target.connections.length > 1) return void connection.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, NO_CONTENT);
    if (stream < 7) return void connection.send(FRAME.headers, FLAG.endHeaders, stream, OK);
    if (stream === 7) return void connection.send(FRAME.reset, 0, stream, word(CODE.calm));
    connection.socket.destroy();
  });
  using proxy = await h2c(target);
  using client = await Frames.plain(proxy.port);
  client.greet();
  const streams = [1, 3, 5, 7, 9, 11, 13];
  for (const stream of streams) client.request(stream);
  await client.until('all responses', () => streams.every((stream) => client.of(stream, FRAME.headers).length > 0));
  await client.until('the ends', () => [1, 3, 5].every((stream) => client.resetCode(stream) !== undefined));
  for (const stream of [7, 9, 11, 13]) assert.equal(client.status(stream), 204);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a connection that is lost long after a target has turned a request away is one that was lost', async () => {
  using target = await FrameTargetFixture.serving((connection, stream) => {
    if (stream === 3) connection.send(FRAME.reset, 0, stream, word(CODE.calm));
  });
  using proxy = await h2c(target);
  const post = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n';
  const waits = proxy.request(post);
  await eventually('the request', () => target.connections[0]?.received.some(({ stream }) => stream === 1) === true);
  assert.match((await proxy.request(post)).line, / 503 /);
  proxy.clock.pass(1_000);
  target.connections[0]?.socket.destroy();
  assert.match((await waits).line, / 502 /);
  const failures = proxy.log.lines.flatMap(({ fields }) => ('failure' in fields && 'host' in fields ? [fields.failure] : []));
  assert.deepEqual(failures, ['turned_away', 'closed']);
});

test('a request with a large head that is turned away changes nothing for others', async () => {
  using target = await turningAway(1);
  using proxy = await h2c(target);
  const many = Array.from({ length: 130 }, (_, nth) => `A${nth}: x\r\n`).join('');
  for (const method of ['GET', 'POST'])
    assert.match((await proxy.request(`${method} / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n${many}\r\n`)).line, / 503 /);
  assert.equal(target.connections.length, 1);
  assert.deepEqual(proxy.targetChanges(), []);
});

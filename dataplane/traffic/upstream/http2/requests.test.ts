import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants } from 'node:http2';
import { test } from 'node:test';
import { targetKey } from '../../../ledger/targets.ts';
import { FRAME, Frames, head, INITIAL_WINDOW } from '../../testing/http2/frames.ts';
import { Http2Client, Http2UpstreamFixture, h2c, okay, type ReceivedRequest } from '../../testing/http2/upstream.ts';
import { eventually, get, type ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { stillness } from '../../testing/stillness.ts';
import { field } from '../../testing/wire.ts';

const inFlight = ({ ledger: { targets } }: ProxyFixture, { address }: { readonly address: string }) =>
  targets.inFlight(targets.find(targetKey(address, false, null, 'h2c')));

test('an HTTP/1.1 client is answered by an HTTP/2 upstream', async () => {
  using upstream = await Http2UpstreamFixture.serving(okay('hello'));
  using proxy = await h2c(upstream);
  const answer = await proxy.request(get('/x?y=1', 'Cookie: a=b\r\nX-One: 1\r\nx-one: 2\r\nTE: gzip\r\n'));
  assert.equal(answer.line, 'HTTP/1.1 200 OK');
  assert.equal(answer.body, 'hello');
  assert.equal(field(answer.head, 'X-Frame-Options'), 'SAMEORIGIN');
  const [asked] = upstream.requests;
  assert.deepEqual(asked?.raw.slice(0, 8), [':method', 'GET', ':scheme', 'http', ':authority', 'a.test', ':path', '/x?y=1']);
  assert.deepEqual(
    ['host', 'te', 'x-forwarded-for', 'cookie', 'x-one', 'content-length'].map((name) => asked?.field(name)),
    [null, 'trailers', '127.0.0.1', 'a=b', '1', null],
  );
  assert.equal(inFlight(proxy, upstream), 0);
});

test('all concurrent requests share one connection', async () => {
  using upstream = await Http2UpstreamFixture.serving(okay('x'));
  using proxy = await h2c(upstream);
  const answers = await Promise.all(Array.from({ length: 50 }, () => proxy.request(get())));
  assert.deepEqual(new Set(answers.map(({ body }) => body)), new Set(['x']));
  assert.equal((await proxy.request(get())).body, 'x');
  assert.equal(upstream.sessions.length, 1);
});

test('a target that allows few concurrent streams gets more connections, each within the limit', async () => {
  const waiting: (() => void)[] = [];
  const openStreams: number[] = [];
  using upstream = await Http2UpstreamFixture.serving(
    (asked) => {
      const { session } = asked.stream;
      openStreams.push(upstream.requests.filter(({ stream }) => stream.session === session && !stream.closed).length);
      waiting.push(() => okay('x')(asked));
    },
    { settings: { maxConcurrentStreams: 2 } },
  );
  using proxy = await h2c(upstream);
  const asked = Array.from({ length: 20 }, () => proxy.request(get()));
  await eventually('eight connections with two requests each', () => waiting.length === 16);
  assert.equal(upstream.sessions.length, 8);
  while (waiting.length > 0) {
    for (const go of waiting.splice(0)) go();
    await eventually('the rest', () => upstream.requests.length === 20);
  }
  assert.deepEqual(new Set((await Promise.all(asked)).map(({ body }) => body)), new Set(['x']));
  assert.ok(Math.max(...openStreams) <= 2, `${openStreams}`);
});

test('a target that accepts no streams keeps one connection, and requests wait for its permission', async () => {
  using upstream = await Http2UpstreamFixture.serving(okay('x'), { settings: { maxConcurrentStreams: 0 } });
  using proxy = await h2c(upstream);
  const allow = (maxConcurrentStreams: number) =>
    new Promise<void>((acknowledged) => upstream.sessions[0]?.settings({ maxConcurrentStreams }, () => acknowledged()));
  const waiting = Array.from({ length: 5 }, () => proxy.request(get()));
  await eventually('its connection', () => upstream.sessions.length === 1);
  await eventually('the requests to wait', () => proxy.ledger.inFlight.total() === 5);
  await allow(100);
  for (const { body } of await Promise.all(waiting)) assert.equal(body, 'x');
  await allow(0);
  const late = proxy.request(get());
  await eventually('the request to wait', () => proxy.ledger.inFlight.total() === 1);
  proxy.clock.pass(6_000);
  assert.equal((await late).line, 'HTTP/1.1 503 Service Unavailable');
  assert.equal(upstream.sessions.length, 1);
});

for (const [what, framing, body] of [
  ['of known length', 'Content-Length: 5\r\n', 'hello'],
  ['in chunks', 'Transfer-Encoding: chunked\r\nTrailer: x-sum\r\n', '5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n'],
] as const)
  test(`a body ${what} is forwarded complete`, async () => {
    using upstream = await Http2UpstreamFixture.serving(({ stream, field }) => {
      let text = '';
      let trailers: object = {};
      stream.setEncoding('utf8').on('data', (piece) => (text += piece));
      stream.on('trailers', (fields) => (trailers = { ...fields }));
      stream.on('end', () => {
        stream.respond({ ':status': 200 });
        stream.end(JSON.stringify([text, field('content-length'), field('transfer-encoding'), trailers]));
      });
    });
    using proxy = await h2c(upstream);
    const answer = await proxy.request(`POST / HTTP/1.1\r\nHost: a.test\r\n${framing}\r\n${body}`);
    assert.deepEqual(JSON.parse(answer.body), [
      'hello',
      framing.includes('5') ? '5' : null,
      null,
      framing.includes('5') ? {} : { 'x-sum': '7' },
    ]);
  });

test('a body that arrives while its request waits for another target is forwarded complete and once', async () => {
  using full = await Http2UpstreamFixture.serving(({ stream }) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
  using free = await Http2UpstreamFixture.serving(
    ({ stream }) => {
      let text = '';
      stream.setEncoding('utf8').on('data', (piece) => (text += piece));
      stream.on('end', () => {
        stream.respond({ ':status': 200 });
        stream.end(text);
      });
    },
    { settings: { maxConcurrentStreams: 0 } },
  );
  using proxy = await h2c(full, free);
  using speaker = new Http2Client(proxy);
  const asked = Array.from({ length: 4 }, (_, at) => {
    const stream = speaker.session.request({ ':authority': 'a.test', ':path': '/', ':method': 'POST' });
    let text = '';
    stream.setEncoding('utf8').on('data', (piece) => (text += piece));
    return { stream, sent: at === 0 ? '' : `${at}`.repeat(at * 10_000), got: () => text };
  });
  await eventually('half of them to be refused', () => full.requests.length === 2);
  for (const { stream, sent } of asked) stream.end(sent);
  await eventually('all to be forwarded', () => asked.every(({ stream }) => stream.writableFinished));
  await new Promise((resolve) => speaker.session.ping(resolve));
  for (const session of free.sessions) session.settings({ maxConcurrentStreams: 100 });
  await Promise.all(asked.map(({ stream }) => once(stream, 'end')));
  assert.deepEqual(
    asked.map(({ got }) => got()),
    asked.map(({ sent }) => sent),
  );
  assert.equal(free.requests.length, 4);
});

test('an empty POST has Content-Length: 0', async () => {
  using upstream = await Http2UpstreamFixture.serving(okay('x'));
  using proxy = await h2c(upstream);
  await proxy.request('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n');
  assert.equal(upstream.requests[0]?.field('content-length'), '0');
  assert.equal(upstream.requests[0]?.stream.endAfterHeaders, true);
});

test('response trailers are forwarded over both protocols', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }));
    stream.end('hello');
  });
  using proxy = await h2c(upstream);
  const answer = await proxy.request(get());
  assert.deepEqual([answer.body, answer.trailers], ['hello', 'x-sum: 7\r\n']);
  using client = new Http2Client(proxy);
  const { body, trailers } = await client.request({ ':path': '/' });
  assert.deepEqual([body, trailers['x-sum']], ['hello', '7']);
});

test('trailers of a response may be as large as its head, as those of gRPC servers that describe an error', async () => {
  const details = 'x'.repeat(30_000);
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status-details-bin': details }));
    stream.end('hello');
  });
  using proxy = await h2c(upstream);
  assert.equal((await proxy.request(get())).trailers, `grpc-status-details-bin: ${details}\r\n`);
  using client = new Http2Client(proxy);
  const { body, trailers } = await client.request({ ':path': '/' });
  assert.deepEqual([body, trailers['grpc-status-details-bin']], ['hello', details]);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('interim responses come before the final one', async () => {
  using upstream = await Http2UpstreamFixture.serving((asked) => {
    asked.stream.additionalHeaders({ ':status': 103, link: '</a.css>' });
    okay('x')(asked);
  });
  using proxy = await h2c(upstream);
  const client = await proxy.connect();
  client.send(get());
  assert.match(await client.readHead(), /^HTTP\/1.1 103 Early Hints\r\nlink: <\/a.css>\r\n\r\n$/);
  assert.equal((await client.readAnswer()).body, 'x');
});

test('a client that expects 100 Continue receives it from the target', async () => {
  using upstream = await Http2UpstreamFixture.serving((asked) => {
    asked.stream.additionalHeaders({ ':status': 100 });
    asked.stream.resume().on('end', () => okay('x')(asked));
  });
  using proxy = await h2c(upstream);
  const client = await proxy.connect();
  client.send('PUT / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
  assert.match(await client.readHead(), /^HTTP\/1.1 100 /);
  client.send('hi');
  assert.equal((await client.readAnswer()).body, 'x');
});

test('responses without a body have none, also with a Content-Length', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream, field }) => {
    const status = Number(field(':path')?.slice(1));
    stream.respond({ ':status': status, ...(status !== 204 && { 'content-length': 5 }) }, { endStream: true });
  });
  using proxy = await h2c(upstream);
  const client = await proxy.connect();
  client.send(get('/200').replace('GET', 'HEAD'));
  const head = await client.readAnswer('HEAD');
  assert.deepEqual([head.line, field(head.head, 'Content-Length')], ['HTTP/1.1 200 OK', '5']);
  for (const status of [204, 304]) {
    client.send(get(`/${status}`));
    assert.match((await client.readAnswer()).line, new RegExp(` ${status} `));
  }
});

test('a client that disconnects cancels its upstream request', async () => {
  using upstream = await Http2UpstreamFixture.serving(() => undefined);
  using proxy = await h2c(upstream);
  const client = await proxy.connect();
  client.send(get());
  await eventually('the request', () => upstream.requests.length === 1);
  client.socket.resetAndDestroy();
  await eventually('its end', () => upstream.requests[0]?.stream.closed === true);
  assert.equal(upstream.requests[0]?.stream.rstCode, constants.NGHTTP2_CANCEL);
  await eventually('nothing to be under way', () => inFlight(proxy, upstream) === 0);
  assert.equal(upstream.sessions[0]?.closed, false);
});

test('a body that its client cuts off never looks complete', async () => {
  let whole = false;
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.resume().on('end', () => {
      whole = !stream.aborted;
    });
  });
  using proxy = await h2c(upstream);
  const client = await proxy.connect();
  client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n');
  await eventually('the request', () => upstream.requests.length === 1);
  client.socket.resetAndDestroy();
  await eventually('its end', () => upstream.requests[0]?.stream.closed === true);
  assert.deepEqual([upstream.requests[0]?.stream.rstCode, whole], [constants.NGHTTP2_CANCEL, false]);
});

test('a response that comes before the request is complete ends both', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 413 });
    stream.end('too much');
  });
  using proxy = await h2c(upstream);
  const client = await proxy.connect();
  client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n');
  const answer = await client.readAnswer();
  assert.deepEqual([answer.line, answer.body], ['HTTP/1.1 413 Payload Too Large', 'too much']);
  await eventually('the stream to be closed', () => upstream.requests[0]?.stream.closed === true);
  assert.equal(inFlight(proxy, upstream), 0);
});

test('an upgrade request over HTTP/2 upstreams is answered as an ordinary request', async () => {
  using upstream = await Http2UpstreamFixture.serving(okay('plain'));
  using proxy = await h2c(upstream);
  const answer = await proxy.request(get('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'));
  assert.equal(answer.body, 'plain');
  assert.equal(upstream.requests[0]?.field('upgrade'), null);
});

test('a client that does not read pauses its own stream and no other', async () => {
  const big = Buffer.alloc(1_000_000);
  let written = 0;
  using upstream = await Http2UpstreamFixture.serving((asked) => {
    if (asked.field(':path') !== '/big') return okay('x')(asked);
    asked.stream.respond({ ':status': 200 });
    const pour = (): void => {
      while (written < 100_000_000) {
        written += big.length;
        if (!asked.stream.write(big)) return void asked.stream.once('drain', pour);
      }
      asked.stream.end();
    };
    pour();
  });
  using proxy = await h2c(upstream);
  const slow = await proxy.connect();
  slow.socket.pause();
  slow.send(get('/big'));
  await stillness('the target to be paused', () => written);
  assert.ok(written < 40_000_000, `${written}`);
  assert.equal((await proxy.request(get())).body, 'x');
  slow.socket.removeAllListeners('data');
  let got = 0;
  slow.socket.on('data', ({ length }) => (got += length)).resume();
  await eventually('the whole body', () => got > 100_000_000);
});

for (const trailers of [true, false])
  test(`a response of unknown length that waits for its client arrives complete${trailers ? ', with its trailers' : ''}`, async () => {
    const size = 6_000_000;
    using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
      stream.respond({ ':status': 200 }, { waitForTrailers: trailers });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }));
      stream.end(Buffer.alloc(size, 'x'));
    });
    using proxy = await h2c(upstream);
    using client = new Http2Client(proxy);
    const whole = await client.request({ ':path': '/' });
    assert.deepEqual([whole.body.length, whole.trailers['x-sum']], [size, trailers ? '7' : undefined]);
    const answer = await proxy.request(get());
    assert.deepEqual([answer.body.length, answer.trailers], [size, trailers ? 'x-sum: 7\r\n' : '']);
  });

test('a target that does not read pauses its client', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => void stream.pause());
  using proxy = await h2c(upstream);
  const client = await proxy.connect();
  client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000000\r\n\r\n');
  const block = Buffer.alloc(1_000_000);
  let sent = 0;
  while (sent < 100_000_000 && client.socket.write(block)) sent += block.length;
  await eventually('the request', () => upstream.requests.length === 1);
  while (sent < 40_000_000) {
    const drained = await Promise.race([
      once(client.socket, 'drain').then(() => true),
      new Promise<false>((end) => setTimeout(end, 300, false)),
    ]);
    if (!drained) break;
    while (client.socket.write(block)) sent += block.length;
  }
  assert.ok(sent < 40_000_000, `${sent}`);
});

test('clients that do not read pause their own streams and no others, however many there are', async () => {
  const piece = Buffer.alloc(100_000);
  const answer = (asked: ReceivedRequest): void => {
    if (asked.field(':path') !== '/big') return okay('x')(asked);
    asked.stream.respond({ ':status': 200 });
    const pour = (): void => {
      while (asked.stream.write(piece));
      asked.stream.once('drain', pour);
    };
    pour();
  };
  // By default, Node's servers turn requests away while this much is unread.
  using upstream = await Http2UpstreamFixture.serving(answer, { maxSessionMemory: 1_000 });
  using proxy = await h2c(upstream);
  using slow = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  for (let nth = 0; nth < 100; nth++) slow.request(2 * nth + 1, head([':path', '/big']));
  await eventually('the responses to begin', () => slow.received.filter(({ type }) => type === FRAME.headers).length === 100);
  const read = (): number => upstream.sockets.reduce((bytes, socket) => bytes + socket.bytesWritten, 0);
  await stillness('the target to be paused', read);
  assert.ok(read() < 40_000_000, `${read()}`);
  assert.equal((await proxy.request(get())).body, 'x');
  assert.equal(upstream.sessions.length, 1);
});

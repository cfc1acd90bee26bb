import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants } from 'node:http2';
import { test } from 'node:test';
import { targetKey } from '../../../ledger/targets.ts';
import { FLAG, FRAME, frame, INITIAL_WINDOW, word } from '../../testing/http2/frames.ts';
import { Http2Client, Http2UpstreamFixture, h2c, okay } from '../../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { stillness } from '../../testing/stillness.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

const POST = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi';

const slotOf = ({ ledger: { targets } }: ProxyFixture, { address }: { readonly address: string }) =>
  targets.find(targetKey(address, false, null, 'h2c'));
const failures = (proxy: ProxyFixture) =>
  proxy.log.lines.flatMap(({ fields }) => ('failure' in fields ? [(fields as { failure: string }).failure] : []));
const reset = (code: number) => Http2UpstreamFixture.serving(({ stream }) => stream.close(code));

test('a target that speaks HTTP/1.1 causes a 502', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await h2c(upstream);
  assert.match((await proxy.request(get())).line, / 502 /);
  assert.deepEqual(failures(proxy), ['no_http2']);
});

test('a target that accepts the connection and sends nothing causes a 504', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await h2c(upstream);
  const asked = proxy.request(get());
  const wire = await upstream.accept();
  await eventually('the preface of the session', () => wire.unread !== '');
  proxy.clock.pass(6_000);
  assert.match((await asked).line, / 504 /);
  assert.deepEqual(failures(proxy), ['connect_timeout']);
});

test('all requests that wait for a connection go to another target when it is refused', async () => {
  using gone = await UpstreamFixture.start();
  const { address } = gone;
  gone[Symbol.dispose]();
  using other = await Http2UpstreamFixture.serving(okay('other'));
  using proxy = await h2c({ address }, other);
  const answers = await Promise.all(Array.from({ length: 6 }, () => proxy.request(POST)));
  assert.deepEqual(new Set(answers.map(({ body }) => body)), new Set(['other']));
  assert.equal(proxy.ledger.targets.ejected(slotOf(proxy, { address }), proxy.clock.now()), true);
});

test('a REFUSED_STREAM is retried on another target, even for a POST, and blames no target', async () => {
  using full = await reset(constants.NGHTTP2_REFUSED_STREAM);
  using other = await Http2UpstreamFixture.serving(okay('other'));
  using proxy = await h2c(full, other);
  for (let turn = 0; turn < 8; turn++) assert.equal((await proxy.request(POST)).body, 'other');
  assert.equal(full.requests.length, 8);
  assert.equal(proxy.ledger.targets.failures(slotOf(proxy, full)), 0);
});

test('a request with more fields than a target accepts (ENHANCE_YOUR_CALM) is answered with 503 and blames no target', async () => {
  using upstream = await Http2UpstreamFixture.serving(okay('x'), { maxHeaderListPairs: 32 });
  using proxy = await h2c(upstream);
  const fields = Array.from({ length: 40 }, (_, nth) => `X-${nth}: 1\r\n`).join('');
  for (let turn = 0; turn < 8; turn++) assert.match((await proxy.request(get('/', fields))).line, / 503 /);
  assert.equal(proxy.ledger.targets.failures(slotOf(proxy, upstream)), 0);
  assert.equal((await proxy.request(POST)).body, 'x');
  assert.deepEqual(new Set(failures(proxy)), new Set(['turned_away']));
});

test('a request that every target refuses is answered with 503', async () => {
  using full = await reset(constants.NGHTTP2_REFUSED_STREAM);
  using proxy = await h2c(full);
  assert.match((await proxy.request(POST)).line, / 503 /);
  assert.deepEqual(failures(proxy), ['turned_away']);
});

test('a request that a target resets is retried on another one only if it is idempotent', async () => {
  using broken = await reset(constants.NGHTTP2_INTERNAL_ERROR);
  using other = await Http2UpstreamFixture.serving(okay('other'));
  using proxy = await h2c(broken, other);
  assert.equal((await proxy.request(get())).body, 'other');
  assert.match((await proxy.request(POST)).line, / 502 /);
  assert.equal(other.requests.length, 1);
  assert.deepEqual(failures(proxy), ['reset']);
});

test('a response that is cut off is truncated for the client over both protocols', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    // While it waits for trailers the library does not send END_STREAM before it resets the stream.
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.write('hel', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  });
  using proxy = await h2c(upstream);
  const client = await proxy.connect();
  client.send(get());
  await client.readThrough('hel');
  await eventually('the connection to be closed', () => client.closed || client.ended);
  assert.doesNotMatch(client.unread, /0\r\n\r\n/);
  using speaker = new Http2Client(proxy);
  await assert.rejects(speaker.request({ ':path': '/' }), { code: 'ERR_HTTP2_STREAM_ERROR' });
  assert.equal(proxy.ledger.targets.inFlight(slotOf(proxy, upstream)), 0);
});

test('a lost connection costs nothing if it had served requests before and the request may be retried', async () => {
  using upstream = await Http2UpstreamFixture.serving((asked) => {
    if (upstream.requests.length === 2) asked.stream.session?.destroy();
    else okay('x')(asked);
  });
  using proxy = await h2c(upstream);
  assert.equal((await proxy.request(get())).body, 'x');
  assert.equal((await proxy.request(get())).body, 'x');
  assert.equal(upstream.sessions.length, 2);
  assert.equal(proxy.ledger.targets.failures(slotOf(proxy, upstream)), 0);
  assert.deepEqual(failures(proxy), []);
});

test('a request that makes its target close the connection is repeated once, even if others are answered in between', async () => {
  let closing = 0;
  using upstream = await Http2UpstreamFixture.serving((asked) => {
    if (asked.field(':path') !== '/closing') return okay('x')(asked);
    closing++;
    // Before that, another request is answered on the same connection.
    void proxy.request(get()).then(() => asked.stream.session?.destroy());
  });
  using proxy = await h2c(upstream);
  assert.equal((await proxy.request(get())).body, 'x');
  assert.match((await proxy.request(get('/closing'))).line, / 502 /);
  assert.equal(closing, 2);
});

test('a target that sends GOAWAY finishes its open streams, and later requests use a new connection', async () => {
  using upstream = await Http2UpstreamFixture.serving((asked) => {
    if (asked.field(':path') !== '/slow') return okay('x')(asked);
    asked.stream.respond({ ':status': 200 });
    asked.stream.write('begun, ');
  });
  using proxy = await h2c(upstream);
  const slow = await proxy.connect();
  slow.send(get('/slow'));
  await slow.readThrough('begun, ');
  upstream.sessions[0]?.close();
  await eventually('the GOAWAY to be received', () => upstream.sessions[0]?.closed === true);
  for (let turn = 0; turn < 5; turn++) assert.equal((await proxy.request(POST)).body, 'x');
  assert.equal(upstream.sessions.length, 2);
  upstream.requests[0]?.stream.end('finished');
  await slow.readThrough('finished');
  assert.deepEqual(failures(proxy), []);
});

test('the time limits also apply to streams that continue after a GOAWAY', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200 });
    stream.write('begun');
  });
  using proxy = await h2c(upstream);
  const client = await proxy.connect();
  client.send(get());
  await client.readThrough('begun');
  upstream.sessions[0]?.close();
  await eventually('the GOAWAY to be received', () => upstream.sessions[0]?.closed === true);
  proxy.clock.pass(61_000);
  await eventually('the client to be cut off', () => client.closed || client.ended);
  await eventually('the connection to be closed', () => proxy.ledger.connections.sockets() === proxy.ledger.connections.open());
});

test('the connection to a target that no longer reads is closed, although not everything can be sent', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await h2c(upstream);
  const client = await proxy.connect();
  client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000000\r\n\r\n');
  const target = await upstream.accept();
  const most = 2 ** 31 - 1;
  const windows = [
    frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.from([0, INITIAL_WINDOW]), word(most)])),
    frame(FRAME.windowUpdate, 0, 0, word(most - 65_535)),
  ];
  target.send(Buffer.concat([...windows, frame(FRAME.settings, FLAG.ack, 0)]));
  await target.until('the request', () => target.unread.includes('\x01\x04\0\0\0\x01'));
  target.socket.pause();
  client.send(Buffer.alloc(50_000_000));
  await stillness('the client to be paused', () => client.socket.writableLength);
  target.send(frame(FRAME.goAway, 0, 0, Buffer.concat([word(0), word(0)])));
  assert.match((await client.readAnswer()).line, / 502 /);
  client.reset();
  proxy.clock.pass(6_000);
  await eventually('the connection to be closed', () => proxy.ledger.connections.sockets() === 0);
});

test('requests that a GOAWAY leaves unprocessed are sent again, even a POST', async () => {
  using upstream = await Http2UpstreamFixture.serving((asked) => {
    const { stream } = asked;
    // No request on the first connection after the first one has been processed.
    if (stream.session !== upstream.sessions[0] || stream.id === 1) return okay('x')(asked);
    stream.session?.goaway(constants.NGHTTP2_NO_ERROR, 1);
  });
  using proxy = await h2c(upstream);
  assert.equal((await proxy.request(get())).body, 'x');
  assert.equal((await proxy.request(POST)).body, 'x');
  assert.equal(upstream.sessions.length, 2);
  assert.deepEqual(failures(proxy), []);
});

test('a request that a GOAWAY leaves unprocessed is sent again even if its connection has not completed any other', async () => {
  using upstream = await Http2UpstreamFixture.serving((asked) => {
    const { stream } = asked;
    if (stream.session !== upstream.sessions[0]) return okay('x')(asked);
    if (asked.field(':path') !== '/open') stream.session?.goaway(constants.NGHTTP2_NO_ERROR, 1);
  });
  using proxy = await h2c(upstream);
  const open = await proxy.connect();
  open.send(get('/open'));
  await eventually('the first request', () => upstream.requests.length === 1);
  assert.equal((await proxy.request(POST)).body, 'x');
  assert.equal(proxy.ledger.targets.failures(slotOf(proxy, upstream)), 0);
});

test('a GOAWAY with an error ends the open streams', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
  using proxy = await h2c(upstream);
  assert.match((await proxy.request(POST)).line, / 502 /);
  assert.deepEqual(failures(proxy), ['closed']);
});

test('a request that waits for a free stream uses a new connection when a full one breaks', async () => {
  const limits = { settings: { maxConcurrentStreams: 1 } };
  const hold = (): void => undefined;
  using upstream = await Http2UpstreamFixture.serving((asked) => (asked.field(':path') === '/late' ? okay('late') : hold)(asked), limits);
  using proxy = await h2c(upstream);
  const all = Array.from({ length: 8 }, () => proxy.request(POST));
  await eventually('every connection to be in use', () => upstream.requests.length === 8);
  const late = proxy.request(POST.replace('/', '/late'));
  await eventually('the last one to be waiting', () => proxy.ledger.inFlight.total() === 9);
  upstream.sockets[0]?.resetAndDestroy();
  assert.equal((await late).body, 'late');
  for (const asked of upstream.requests) if (!asked.stream.headersSent && !asked.stream.destroyed) okay('held')(asked);
  const lines = (await Promise.all(all)).map(({ line }) => line.slice(9, 12)).sort();
  assert.deepEqual(lines, [...Array.from({ length: 7 }, () => '200'), '502']);
});

test('a response has a minute to begin, and a minute for each piece of its body', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream, field }) => {
    if (field(':path') === '/silent') return;
    stream.respond({ ':status': 200 });
    stream.write('piece');
  });
  using proxy = await h2c(upstream);
  const silent = proxy.request(get('/silent'));
  await eventually('the request', () => upstream.requests.length === 1);
  proxy.clock.pass(61_000);
  assert.match((await silent).line, / 504 /);
  await eventually('the stream to be cancelled', () => upstream.requests[0]?.stream.rstCode === constants.NGHTTP2_CANCEL);
  const client = await proxy.connect();
  client.send(get());
  await client.readThrough('piece');
  proxy.clock.pass(59_000);
  assert.equal(client.closed, false);
  proxy.clock.pass(2_000);
  await eventually('the client to be cut off', () => client.closed || client.ended);
  assert.deepEqual(failures(proxy), ['head_timeout', 'body_timeout']);
});

test('event streams and gRPC calls may be idle without a limit', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream, field }) => {
    stream.on('data', (piece: Buffer) => stream.write(piece));
    if (field(':path') === '/events') stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
  });
  using proxy = await h2c(upstream);
  using speaker = new Http2Client(proxy);
  const fields = { ':authority': 'a.test', ':method': 'POST', te: 'trailers', 'content-type': 'application/grpc+proto' };
  const calls = ['/one', '/two'].map((path) => speaker.session.request({ ...fields, ':path': path }));
  // This client has ended its side.
  calls[1]?.end();
  const events = speaker.session.request({ ':authority': 'a.test', ':path': '/events' });
  await once(events, 'response');
  await eventually('all requests', () => upstream.requests.length === 3);
  const got: string[] = [];
  for (const stream of [...calls, events]) {
    stream.on('error', () => undefined);
    stream.on('data', (piece) => got.push(String(piece)));
  }
  for (let minute = 0; minute < 30; minute++) {
    proxy.clock.pass(60_000);
    // Both sides receive a PING and acknowledge it.
    for (const session of [speaker.session, ...upstream.sessions]) await new Promise((resolve) => session.ping(resolve));
  }
  const [one, two] = upstream.requests.map(({ stream }) => stream);
  for (const stream of [one, two, upstream.requests[2]?.stream]) stream?.write('still there');
  await eventually('all pieces to be echoed', () => got.join() === 'still there,still there,still there');
  assert.deepEqual(failures(proxy), []);
});

test('any other response that has not begun after a minute causes a 504, even if the request has TE: trailers like gRPC', async () => {
  using upstream = await Http2UpstreamFixture.serving(() => undefined);
  using proxy = await h2c(upstream);
  const asked = proxy.request(get('/', 'TE: trailers\r\nContent-Type: application/json\r\n'));
  await eventually('the request', () => upstream.requests.length === 1);
  proxy.clock.pass(61_000);
  assert.match((await asked).line, / 504 /);
});

test('an idle connection is closed after half a minute, or at once if no route uses it', async () => {
  using upstream = await Http2UpstreamFixture.serving(okay('x'));
  using proxy = await h2c(upstream);
  await proxy.request(get());
  proxy.clock.pass(29_000);
  assert.equal(upstream.sessions[0]?.closed, false);
  proxy.clock.pass(2_000);
  await eventually('its end', () => upstream.sessions[0]?.closed === true);
  await proxy.request(get());
  await proxy.publish([site('a.test', { address: '127.0.0.1:9' })]);
  await eventually('its end', () => upstream.sessions[1]?.closed === true);
  await eventually('only client connections to be counted', () => proxy.ledger.connections.sockets() === proxy.ledger.connections.open());
});

test('a request that waits for a paused target is retried on another one at once', async () => {
  using paused = await Http2UpstreamFixture.serving(() => undefined);
  using other = await Http2UpstreamFixture.serving(okay('other'));
  const route = (...upstreams: { address: string; state?: 'paused' }[]) => ({
    ...site('a.test'),
    upstreams,
    transport: { protocol: 'h2c' as const },
  });
  using proxy = await ProxyFixture.start([route(paused)]);
  const asked = proxy.request(get());
  await eventually('the request', () => paused.requests.length === 1);
  await proxy.publish([route({ address: paused.address, state: 'paused' }, other)]);
  assert.equal((await asked).body, 'other');
});

for (const [what, length] of [
  ['longer', 3],
  ['shorter', 9],
] as const)
  test(`a response that is ${what} than its Content-Length is truncated`, async () => {
    using upstream = await Http2UpstreamFixture.serving(({ stream, field }) => {
      stream.respond({ ':status': 200, ...(field(':path') === '/wrong' && { 'content-length': length }) });
      if (field(':path') === '/wrong') stream.end('hello');
      else stream.write('begun');
    });
    using proxy = await h2c(upstream);
    const other = await proxy.connect();
    other.send(get('/slow'));
    await other.readThrough('begun');
    const client = await proxy.connect();
    client.send(get('/wrong'));
    await client.until('the connection to be closed', () => client.closed || client.ended);
    assert.match(client.unread, new RegExp(`Content-Length: ${length}\r\n\r\n(?:hello)?$`));
    assert.equal(proxy.ledger.targets.failures(slotOf(proxy, upstream)) > 0, true);
    // Other requests of the connection go on.
    assert.equal(other.closed || other.ended, false);
  });

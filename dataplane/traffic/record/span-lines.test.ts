import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineRing, LineRings } from '../../ledger/line-ring.ts';
import type { TracingSettings } from '../protocol.ts';
import { Http2UpstreamFixture, okay } from '../testing/http2/upstream.ts';
import { eventually, failedAt, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { attributesOf, awaitedSpans, spansOf } from '../testing/spans.ts';
import { ok, refusingAddress, UpstreamFixture } from '../testing/test-upstream.ts';

const ALL: TracingSettings = { ratio: 1, trustsClients: false };
const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];

const traced = (routes: Parameters<typeof ProxyFixture.with>[0], tracing: TracingSettings = ALL): Promise<ProxyFixture> =>
  ProxyFixture.with(routes, { tracing });

const msOf = (nanos: string): number => Number(BigInt(nanos) / 1_000_000n);

test('a forwarded request has a span of its own, and one of its attempt with the connect in it', async () => {
  using upstream = await UpstreamFixture.serving(ok('hello'));
  using proxy = await traced([site('a.test', upstream)]);
  await proxy.request('GET /a%20b?page=2&token=secret HTTP/1.1\r\nHost: A.test:8080\r\nUser-Agent: test "1"\r\n\r\n');
  const [server = assert.fail(), attempt = assert.fail(), connect = assert.fail(), ...others] = spansOf(proxy);
  assert.equal(others.length, 0);
  assert.deepEqual(
    [server, attempt, connect].map(({ name, kind }) => [name, kind]),
    [
      ['GET', SERVER],
      ['GET', CLIENT],
      ['connect', INTERNAL],
    ],
  );
  assert.equal(server.parentSpanId, undefined);
  assert.deepEqual([attempt.parentSpanId, connect.parentSpanId], [server.spanId, attempt.spanId]);
  assert.deepEqual([attempt.traceId, connect.traceId], [server.traceId, server.traceId]);
  const { 'network.peer.port': port, ...rest } = attributesOf(server);
  assert.ok(Number(port) > 0);
  assert.deepEqual(rest, {
    'http.request.method': 'GET',
    'url.scheme': 'http',
    'url.path': '/a%20b',
    'url.query': 'page=2&token=REDACTED',
    'server.address': 'a.test',
    'server.port': '8080',
    'client.address': '127.0.0.1',
    'network.peer.address': '127.0.0.1',
    'network.protocol.version': '1.1',
    'user_agent.original': 'test "1"',
    'http.response.status_code': '200',
    'http.response.body.size': '5',
  });
  assert.deepEqual(attributesOf(attempt), {
    'http.request.method': 'GET',
    'url.full': `http://${upstream.address}/a%20b?page=2&token=REDACTED`,
    'server.address': '127.0.0.1',
    'server.port': upstream.address.split(':')[1],
    'network.protocol.version': '1.1',
    'http.response.status_code': '200',
  });
  assert.deepEqual([server.status, attempt.status], [undefined, undefined]);
  assert.ok(upstream.requests[0]?.head.includes(`traceparent: 00-${server.traceId}-${attempt.spanId}-01\r\n`));
});

test('times are those of the request, of the head of the response and of its end', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await traced([site('a.test', upstream)]);
  const begun = proxy.clock.now();
  const wire = await proxy.connect();
  wire.send(get());
  const { wire: target } = await upstream.nextRequest();
  proxy.clock.pass(100);
  target.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na');
  await wire.until('the head', () => wire.unread.includes('\r\n\r\na'));
  proxy.clock.pass(50);
  target.send('b');
  const [server = assert.fail(), attempt = assert.fail()] = await awaitedSpans(proxy);
  for (const one of [server, attempt]) assert.deepEqual([msOf(one.startTimeUnixNano), msOf(one.endTimeUnixNano)], [begun, begun + 150]);
  assert.deepEqual(
    attempt.events?.map(({ name, timeUnixNano }) => [name, msOf(timeUnixNano)]),
    [['response head', begun + 100]],
  );
});

test('each attempt has a span of its own, with why it failed', async () => {
  const gone = await refusingAddress();
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await traced([site('a.test', { address: gone }, upstream)]);
  await proxy.request(get());
  const [server = assert.fail(), ...others] = spansOf(proxy);
  const attempts = others.filter(({ kind }) => kind === CLIENT);
  assert.deepEqual(
    attempts.map((one) => [attributesOf(one)['error.type'], attributesOf(one)['http.request.resend_count'], one.status?.code]),
    [
      ['refused', undefined, 2],
      [undefined, '1', undefined],
    ],
  );
  assert.deepEqual(
    others.filter(({ name }) => name === 'connect').map((one) => [attributesOf(one)['error.type'], one.status?.code]),
    [
      ['refused', 2],
      [undefined, undefined],
    ],
  );
  assert.equal(server.status, undefined);
  assert.ok(upstream.requests[0]?.head.includes(attempts[1]?.spanId ?? 'none'));
});

test('a request that fails has the failure as its error', async () => {
  using proxy = await traced([site('a.test', { address: await refusingAddress() })]);
  await proxy.request(get());
  const [server = assert.fail()] = spansOf(proxy);
  assert.equal(attributesOf(server)['http.response.status_code'], '502');
  assert.equal(attributesOf(server)['error.type'], 'refused');
  assert.deepEqual(server.status, { code: 2, message: 'the target refused the connection' });
});

test('a response that the target cuts off is an error of the request and of the attempt', async () => {
  using upstream = await UpstreamFixture.serving((_, wire) => {
    wire.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx');
    wire.end();
    return null;
  });
  using proxy = await traced([site('a.test', upstream)]);
  const wire = await proxy.connect();
  wire.send(get());
  await wire.until('the end', () => wire.closed || wire.ended);
  const [server = assert.fail(), attempt = assert.fail()] = spansOf(proxy);
  for (const one of [server, attempt]) {
    assert.equal(attributesOf(one)['http.response.status_code'], '200');
    assert.equal(attributesOf(one)['error.type'], 'closed');
  }
});

test('a client that leaves cancels the attempt', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await traced([site('a.test', upstream)]);
  const wire = await proxy.connect();
  wire.send(get());
  await upstream.nextRequest();
  wire.socket.resetAndDestroy();
  const [server = assert.fail(), attempt = assert.fail()] = await awaitedSpans(proxy);
  assert.equal(attributesOf(server)['http.response.status_code'], '499');
  assert.equal(server.status, undefined);
  assert.equal(attributesOf(attempt)['error.type'], 'cancelled');
});

test('a request that is held has a span of its wait', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  const gone = await refusingAddress();
  const held = { ...site('a.test', { address: gone }), hold_secs: 60 };
  using proxy = await traced([held]);
  const wire = await proxy.connect();
  wire.send(get());
  await failedAt(proxy, gone);
  await proxy.publish([{ ...held, upstreams: [{ address: upstream.address }] }]);
  const spans = await awaitedSpans(proxy, () => proxy.clock.pass(250));
  const [server] = spans;
  const waits = spans.filter(({ name }) => name === 'wait');
  assert.ok(waits.length > 0);
  for (const wait of waits) {
    assert.equal(wait.parentSpanId, server?.spanId);
    assert.deepEqual(attributesOf(wait), { 'sluice.wait.for': 'target' });
  }
});

test('a request that waits for a connection has a span of that wait', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.with([site('a.test', upstream)], { tracing: ALL }, { maxPerTarget: 1 });
  const [first, second] = [await proxy.connect(), await proxy.connect()];
  first.send(get('/1'));
  const { wire } = await upstream.nextRequest();
  second.send(get('/2'));
  await eventually('the second to arrive', () => proxy.ledger.inFlight.total() === 2);
  wire.send(ok('x'));
  await wire.readRequest();
  wire.send(ok('x'));
  await second.readAnswer('GET');
  const wait = spansOf(proxy).filter(({ name }) => name === 'wait');
  assert.deepEqual(wait.map(attributesOf), [{ 'sluice.wait.for': 'connection' }]);
});

test('a reused connection needs no connect, and a closed one a second attempt', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await traced([site('a.test', upstream)]);
  await proxy.request(get());
  spansOf(proxy);
  await proxy.request(get());
  assert.deepEqual(
    spansOf(proxy).map(({ name }) => name),
    ['GET', 'GET'],
  );
});

test('an HTTP/2 upstream has the same spans', async () => {
  using upstream = await Http2UpstreamFixture.serving(okay('x'));
  using proxy = await traced([{ ...site('a.test', upstream), transport: { protocol: 'h2c' } }]);
  await proxy.request(get());
  const [server = assert.fail(), attempt = assert.fail(), connect = assert.fail()] = spansOf(proxy);
  assert.deepEqual([server.name, attempt.name, connect.name], ['GET', 'GET', 'connect']);
  assert.equal(attributesOf(attempt)['network.protocol.version'], '2');
  assert.equal(attempt.events?.length, 1);
});

test('an upgraded connection has one span from its request to its end', async () => {
  using upstream = await UpstreamFixture.serving((_, wire) => {
    wire.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello');
    return null;
  });
  using proxy = await traced([site('a.test', upstream)]);
  const wire = await proxy.connect();
  wire.send(get('/', 'Connection: Upgrade\r\nUpgrade: echo\r\n'));
  await wire.readThrough('hello');
  assert.equal(spansOf(proxy).length, 0);
  wire.socket.destroy();
  const [server = assert.fail(), attempt = assert.fail()] = await awaitedSpans(proxy);
  assert.equal(attributesOf(server)['http.response.status_code'], '101');
  assert.equal(attributesOf(attempt)['http.response.status_code'], '101');
  assert.ok(upstream.requests[0]?.head.includes(attempt.spanId));
});

test('hostile text can’t break a span, and long text is cut after its secrets are left out', async () => {
  using proxy = await traced([{ domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body: 'x' } }]);
  const long = `/?${'a'.repeat(2_040)}&token=secret`;
  await proxy.request(`"M' ${long} HTTP/1.1\r\nHost: a.test\r\n\r\n`.replace('"M\'', "M'"));
  await proxy.request(get('/', 'User-Agent: \\"\u00ff\t</script>\r\n'));
  const [odd = assert.fail(), agent = assert.fail()] = spansOf(proxy);
  const attributes = attributesOf(odd);
  assert.deepEqual([odd.name, attributes['http.request.method'], attributes['http.request.method_original']], ['HTTP', '_OTHER', "M'"]);
  assert.equal(attributes['url.query']?.length, 2_048);
  assert.doesNotMatch(attributes['url.query'] ?? '', /sec/);
  assert.equal(attributesOf(agent)['user_agent.original'], '\\"\ufffd\t</script>');
});

test('a request that is not sampled has no spans, and the access log has the trace of every request', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.with([site('a.test', upstream)], { tracing: { ...ALL, ratio: 0 }, accessLog: 'stdout' });
  await proxy.request(get());
  assert.equal(spansOf(proxy).length, 0);
  const lines: string[] = [];
  new LineRing(proxy.ledger.buffers.accessLines, proxy.slot).read((_, bytes, from, to) => lines.push(bytes.toString('latin1', from, to)));
  const { trace_id } = JSON.parse(lines.at(-1) ?? '') as { trace_id: string };
  assert.ok(upstream.requests[0]?.head.includes(`traceparent: 00-${trace_id}-`));
});

test('spans that find no room are counted one by one', () => {
  const buffer = LineRing.buffer(1);
  const ring = new LineRing(buffer, 0);
  while (ring.push(3, 'x'.repeat(100_000), 3));
  assert.equal(new LineRings(buffer).lost(), 3);
});

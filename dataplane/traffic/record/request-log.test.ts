import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { freeAddress, ok, refusingAddress, UpstreamFixture } from '../testing/test-upstream.ts';

type Line = Readonly<Record<string, unknown>>;

const lines = (proxy: ProxyFixture): Line[] =>
  proxy.log.lines.map(({ level, message, fields }) => ({ level, message, ...(fields as Record<string, unknown>) }));
const saying = (proxy: ProxyFixture, message: string): Line[] => lines(proxy).filter((line) => line.message === message);

function pass(proxy: ProxyFixture, seconds: number): void {
  for (let step = 0; step < seconds; step++) proxy.clock.pass(1_000);
}

test('a failed request is logged with everything that identifies it, without its query', async () => {
  const address = await refusingAddress();
  using proxy = await ProxyFixture.before({ address });
  await proxy.request(get(`/cart/${'x'.repeat(300)}?token=secret`));
  const [line, ...others] = lines(proxy);
  assert.deepEqual(others, []);
  const { request_id: id, path, ...rest }: Line = line ?? {};
  assert.deepEqual(rest, {
    level: 'warn',
    message: 'the target refused the connection',
    host: 'a.test',
    method: 'GET',
    client: '127.0.0.1',
    status: 502,
    target: address,
    duration_ms: 0,
    failure: 'refused',
  });
  assert.match(String(id), /^[0-9a-f]{24}$/);
  assert.equal(path, `/cart/${'x'.repeat(250)}`);
});

test('a dead target has a few log lines for 2,000 failed requests, and one when it answers again', async () => {
  const address = await freeAddress();
  using proxy = await ProxyFixture.before({ address });
  for (let minute = 0; minute < 2; minute++) {
    const client = await proxy.connect();
    for (let nth = 0; nth < 1_000; nth++) {
      client.send(get());
      assert.match((await client.readAnswer()).line, / 502 /);
    }
    pass(proxy, 61);
  }
  assert.deepEqual(
    lines(proxy).map(({ message, count, failures }) => ({ message, count, failures })),
    [
      { message: 'the target refused the connection', count: undefined, failures: undefined },
      { message: 'target out of rotation', count: undefined, failures: undefined },
      { message: 'more requests failed', count: 999, failures: { refused: 999 } },
      { message: 'more requests failed', count: 1_000, failures: { refused: 1_000 } },
    ],
  );
  using upstream = await UpstreamFixture.serving(ok('x'), address);
  assert.equal((await proxy.request(get())).body, 'x');
  pass(proxy, 6);
  const { message, target, failed }: Line = lines(proxy).at(-1) ?? {};
  assert.deepEqual([message, target, failed, upstream.address], ['target has recovered', address, 2_000, address]);
});

test('a new kind of failure of a target is logged at once', async () => {
  let answer = 'no HTTP\r\n\r\n';
  using upstream = await UpstreamFixture.serving((_, wire) => {
    if (answer === '') wire.end();
    return answer;
  });
  using proxy = await ProxyFixture.before(upstream);
  for (let nth = 0; nth < 2; nth++) await proxy.request(get());
  answer = '';
  await proxy.request(get());
  assert.deepEqual(
    lines(proxy).flatMap(({ failure }) => failure ?? []),
    ['malformed', 'malformed', 'closed', 'closed'],
  );
});

test('a target that fails occasionally is not reported as recovered each time', async () => {
  let answer = 'no HTTP\r\n\r\n';
  using upstream = await UpstreamFixture.serving(() => answer);
  using proxy = await ProxyFixture.before(upstream);
  for (let round = 0; round < 2; round++) {
    answer = 'no HTTP\r\n\r\n';
    assert.match((await proxy.request(get())).line, / 502 /);
    answer = ok('x');
    assert.equal((await proxy.request(get())).body, 'x');
    pass(proxy, 6);
  }
  assert.deepEqual(
    lines(proxy).map(({ message }) => message),
    ['the response of the target is not valid HTTP', 'the response of the target is not valid HTTP'],
  );
});

test('a response head that is too large is logged differently from one that is not HTTP', async () => {
  using upstream = await UpstreamFixture.serving(({ head }) =>
    ok('x', head.startsWith('GET /many') ? 'X: x\r\n'.repeat(1_100) : `X: ${'x'.repeat(20_000)}\r\n`),
  );
  const small = { ...site('a.test', upstream), transport: { max_response_header_bytes: 16_384 } };
  using proxy = await ProxyFixture.start([small]);
  await proxy.request(get('/long'));
  await proxy.request(get('/many'));
  await proxy.request(get('/long', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'));
  assert.deepEqual(
    lines(proxy).flatMap(({ path, failure }) => (path === undefined ? [] : failure)),
    ['long_head', 'long_head', 'long_head'],
  );
});

test('a truncated response is logged, and a client that disconnects is not', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const [cut, gone] = [await proxy.connect(), await proxy.connect()];
  cut.send(get('/cut'));
  const first = await upstream.nextRequest();
  first.wire.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc');
  await cut.readThrough('abc');
  first.wire.end();
  gone.send(get('/gone'));
  await upstream.nextRequest();
  gone.reset();
  await eventually('both to be over', () => proxy.ledger.inFlight.total() === 0);
  const entries = lines(proxy).map(({ level, path, status, failure }) => ({ level, path, status, failure }));
  assert.deepEqual(entries, [{ level: 'warn', path: '/cut', status: 200, failure: 'closed' }]);
});

test('a site without a target has one line and counts, and fixed responses have none', async () => {
  const unavailable = { ...site('a.test'), upstreams: [{ address: '127.0.0.1:1', state: 'unhealthy' as const }] };
  using proxy = await ProxyFixture.start([unavailable, { ...site('b.test'), respond: { status: 503, body: 'closed' } }]);
  for (let nth = 0; nth < 10; nth++) await proxy.request(get());
  assert.equal((await proxy.request(get().replace('a.test', 'b.test'))).body, 'closed');
  pass(proxy, 61);
  assert.deepEqual(
    lines(proxy).map(({ message, site: domain, host, count }) => ({ message, domain, host, count })),
    [
      { message: 'no target of the pool is in rotation', domain: undefined, host: 'a.test', count: undefined },
      { message: 'more requests failed', domain: 'a.test', host: undefined, count: 9 },
    ],
  );
});

test('errors from upstreams, slow responses and unrouted hosts are logged only at level debug', async () => {
  const linesAt = async (logLevel: 'debug' | 'info'): Promise<Line[]> => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.with([site('a.test', upstream)], { logLevel });
    const client = await proxy.connect();
    client.send(get('/error'));
    const { wire } = await upstream.nextRequest();
    wire.send('HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n');
    await client.readAnswer();
    client.send(get('/slow'));
    await wire.readRequest();
    proxy.clock.pass(5_000);
    wire.send(ok('x'));
    await client.readAnswer();
    client.send(get().replace('a.test', 'b.test'));
    await client.readAnswer();
    return lines(proxy);
  };
  assert.deepEqual(
    (await linesAt('debug')).map(({ level, message, host, path, duration_ms }) => [level, message, host, path, duration_ms]),
    [
      ['debug', 'the upstream returned an error', 'a.test', '/error', 0],
      ['debug', 'slow response', 'a.test', '/slow', 5_000],
      ['debug', 'no route for this host', 'b.test', '/', 0],
    ],
  );
  assert.deepEqual(await linesAt('info'), []);
});

test('a thousand sites in trouble are logged separately, and the rest together', async () => {
  const routes = Array.from({ length: 1_010 }, (_, nth) => ({
    ...site(`s${nth}.test`),
    upstreams: [{ address: '127.0.0.1:1', state: 'unhealthy' as const }],
  }));
  using proxy = await ProxyFixture.start(routes);
  const client = await proxy.connect();
  for (const { domain } of routes) {
    client.send(get().replace('a.test', domain));
    await client.readAnswer();
  }
  assert.equal(saying(proxy, 'no target of the pool is in rotation').length, 1_001);
  pass(proxy, 61);
  assert.deepEqual(
    saying(proxy, 'more requests failed').map(({ site: name, count }) => [name, count]),
    [['others', 9]],
  );
});

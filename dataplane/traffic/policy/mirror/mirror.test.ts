import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Http2Client } from '../../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

const post = (body: string) => `POST /form HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** A site with a mirror. */
async function mirrored(upstream: UpstreamFixture, shadow: { readonly address: string }, more: object = {}): Promise<ProxyFixture> {
  return ProxyFixture.start([{ ...site('a.test', upstream), mirror: { upstream: shadow.address, ...more } }]);
}

test('a copy equals the request for the upstream, with its body, and its response is discarded', async () => {
  using upstream = await UpstreamFixture.serving(ok('original'));
  using shadow = await UpstreamFixture.serving('HTTP/1.1 500 No\r\nSet-Cookie: a=b\r\nContent-Length: 4\r\n\r\ncopy');
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test', upstream),
      mirror: { upstream: shadow.address },
      rewrites: [{ from: '/old', to: '/new?x=1' }],
      request_headers: [{ name: 'X-Added', value: 'yes' }],
    },
  ]);
  const answer = await proxy.request(get('/old', 'Authorization: Bearer t\r\n'));
  assert.deepEqual([answer.body, field(answer.head, 'set-cookie')], ['original', null]);
  assert.equal((await proxy.request(post('content'))).body, 'original');
  await eventually('both copies', () => shadow.requests.length === 2);
  const [first, second] = shadow.requests;
  assert.match(first?.line ?? '', /^GET \/new\?x=1 /);
  assert.deepEqual(
    ['x-added', 'authorization', 'host', 'x-forwarded-for'].map((name) => field(first?.head ?? '', name)),
    ['yes', 'Bearer t', 'a.test', '127.0.0.1'],
  );
  assert.equal(second?.body, 'content');
  assert.equal(proxy.counted().get('a.test')?.requests, 2, 'copies are no visits');
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
});

test('the original neither waits for a mirror that hangs, refuses, cuts off or never ends, nor fails with it', async () => {
  using upstream = await UpstreamFixture.serving(ok('original'));
  using hanging = await UpstreamFixture.serving(() => null);
  using cutting = await UpstreamFixture.serving((_, wire) => {
    wire.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf');
    wire.reset();
    return null;
  });
  const piece = 'x'.repeat(100_000);
  using endless = await UpstreamFixture.serving((_, wire) => {
    wire.send('HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n');
    const more = (): void => {
      while (wire.socket.writable && wire.socket.write(piece));
    };
    wire.socket.on('drain', more);
    more();
    return null;
  });
  for (const shadow of [hanging, cutting, endless, { address: await refusingAddress() }]) {
    using proxy = await mirrored(upstream, shadow);
    for (let nth = 0; nth < 5; nth++) {
      assert.equal((await proxy.request(get())).body, 'original');
      assert.equal((await proxy.request(post('x'))).body, 'original');
    }
  }
  await eventually(
    'an endless response to be cut',
    () => endless.connections.length > 0 && endless.connections.every(({ closed, ended }) => closed || ended),
  );
});

test('while too many copies are in flight, requests are not copied', async () => {
  using upstream = await UpstreamFixture.serving(ok('original'));
  using hanging = await UpstreamFixture.serving(() => null);
  using proxy = await mirrored(upstream, hanging);
  for (let nth = 0; nth < 150; nth++) assert.equal((await proxy.request(get())).body, 'original');
  await eventually('the copies', () => hanging.requests.length === 128);
  proxy.clock.pass(11_000);
  await eventually('the copies to have failed', () => hanging.connections.every(({ closed, ended }) => closed || ended));
  await proxy.request(get());
  await eventually('room for another one', () => hanging.requests.length === 129);
});

test('large bodies, upgrades, requests that are rejected or answered, and those that do not match are not copied', async () => {
  using upstream = await UpstreamFixture.serving(ok('original'));
  using shadow = await UpstreamFixture.serving(ok('copy'));
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test', upstream),
      mirror: { upstream: shadow.address, match: { not: [{ path: ['/no/*'] }] } },
      handles: [
        { path: '/denied', ip_filter: { deny: ['0.0.0.0/0'] } },
        { path: '/fixed', respond: { status: 200, body: 'fixed' } },
        { path: '/off', mirror: null },
      ],
    },
  ]);
  for (const text of [post('x'.repeat(100_000)), get('/denied'), get('/fixed'), get('/off'), get('/no/x')]) await proxy.request(text);
  const chunked = 'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n';
  await proxy.request(chunked);
  await proxy.request(get('/', 'Connection: Upgrade\r\nUpgrade: custom\r\n'));
  await proxy.request(get('/yes'));
  await eventually('the one copy', () => shadow.requests.length === 1);
  assert.match(shadow.requests[0]?.line ?? '', /\/yes /);
  assert.match(JSON.stringify(proxy.dryRun('http://a.test/yes').policies), /all requests are also sent to/);
  assert.equal(shadow.requests.length, 1, 'a dry run sends nothing');
});

/** The copies reported so far, by result. */
function results(proxy: ProxyFixture): Record<string, number> {
  proxy.counted();
  const sums: Record<string, number> = {};
  for (const message of proxy.messages)
    for (const { mirrored = [] } of message.kind === 'report' ? message.report.domains : [])
      for (const [result, count] of mirrored) sums[result] = (sums[result] ?? 0) + count;
  return sums;
}

test('copies are counted by what became of them', async () => {
  using upstream = await UpstreamFixture.serving(ok('original'));
  using shadow = await UpstreamFixture.serving(({ line }) =>
    line.includes('/cut') ? 'HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n' : `HTTP/1.1 ${line.slice(5, 8)} X\r\nContent-Length: 0\r\n\r\n`,
  );
  using proxy = await mirrored(upstream, shadow);
  for (const path of ['/200', '/204', '/302', '/404', '/500', '/503', '/cut']) await proxy.request(get(path));
  await proxy.request(post('x'.repeat(100_000)));
  await eventually('all to be counted', () => Object.values(results(proxy)).reduce((sum, count) => sum + count, 0) === 8);
  assert.deepEqual(results(proxy), { '2xx': 2, '3xx': 1, '4xx': 1, '5xx': 2, failed: 1, skipped: 1 });
});

test('a connection whose last piece of a response is one too many is not used again', async () => {
  using upstream = await UpstreamFixture.serving(ok('original'));
  using shadow = await UpstreamFixture.serving(ok('x'.repeat(1_048_576 + 10)));
  using proxy = await mirrored(upstream, shadow);
  for (let nth = 1; nth <= 4; nth++) {
    assert.equal((await proxy.request(get())).body, 'original');
    await eventually('the copy', () => shadow.requests.length === nth);
    await eventually('its end', () => proxy.ledger.inFlight.total() === 0 && results(proxy)['2xx'] === nth);
  }
});

test('a request in any protocol that is served again by a newer table is answered, and not copied again', async () => {
  using upstream = await UpstreamFixture.serving(({ body }) => ok(`got ${body}`));
  using shadow = await UpstreamFixture.serving(ok('copy'));
  const common = { mirror: { upstream: shadow.address }, hold_secs: 10 };
  const none = '127.0.0.1:1';
  using proxy = await ProxyFixture.start([
    { ...site('a.test'), ...common, upstream: none, upstreams: [{ address: none, state: 'starting' as const }] },
  ]);
  using client = new Http2Client(proxy);
  const answers = [
    client.request({ ':method': 'POST', ':path': '/', 'content-length': 3 }, 'two'),
    proxy.request('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\none'),
  ];
  await eventually('the copies', () => shadow.requests.length === 2 && results(proxy)['2xx'] === 2);
  await eventually('the requests to wait', () => proxy.ledger.inFlight.total() === 2);
  await proxy.publish([{ ...site('a.test', upstream), ...common }]);
  assert.deepEqual(
    (await Promise.all(answers)).map(({ body }) => body),
    ['got two', 'got one'],
  );
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
  assert.equal(shadow.requests.length, 2);
});

test('a share of the requests is copied', async () => {
  using upstream = await UpstreamFixture.serving(ok('original'));
  using shadow = await UpstreamFixture.serving(ok('copy'));
  using proxy = await mirrored(upstream, shadow, { percent: 25 });
  for (let nth = 0; nth < 400; nth++) await proxy.request(get());
  await eventually('the copies to have ended', () => proxy.ledger.inFlight.total() === 0);
  // A quarter, within six standard deviations.
  assert.ok(Math.abs(shadow.requests.length - 100) < 52, `${shadow.requests.length} of 400`);
});

test('several mirrors get copies of their own, each of its share and over its pool', async () => {
  using upstream = await UpstreamFixture.serving(ok('original'));
  using first = await UpstreamFixture.serving(ok(''));
  using second = await UpstreamFixture.serving(ok(''));
  using never = await UpstreamFixture.serving(ok(''));
  using posted = await UpstreamFixture.serving(ok(''));
  const pool = (...targets: readonly { readonly address: string }[]) => ({ upstreams: targets.map(({ address }) => ({ address })) });
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test', upstream),
      mirrors: [
        pool(first, second),
        { ...pool(never), fraction: { numerator: 0 } },
        { ...pool(posted), fraction: { numerator: 1_000, denominator: 1_000 }, match: { method: ['POST'] } },
      ],
    },
  ]);
  for (let nth = 0; nth < 4; nth++) assert.equal((await proxy.request(get())).body, 'original');
  assert.equal((await proxy.request(post('content'))).body, 'original');
  await eventually('the copies', () => first.requests.length + second.requests.length === 5 && posted.requests.length === 1);
  assert.ok(Math.abs(first.requests.length - second.requests.length) === 1, 'its targets take turns');
  assert.deepEqual([posted.requests[0]?.body, never.requests.length], ['content', 0]);
  const { policies } = proxy.dryRun('http://a.test/');
  assert.equal(
    policies.find(({ name }) => name === 'mirror')?.verdict,
    `all requests are also sent to ${first.address}, ${second.address}; 0 % of the requests are also sent to ${never.address}`,
  );
});

test('a share of few requests in many is copied', async () => {
  using upstream = await UpstreamFixture.serving(ok('original'));
  using shadow = await UpstreamFixture.serving(ok(''));
  const mirrors = [{ upstreams: [{ address: shadow.address }], fraction: { numerator: 1, denominator: 3 } }];
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), mirrors }]);
  const client = await proxy.connect();
  for (let nth = 0; nth < 300; nth++) {
    client.send(get());
    await client.readAnswer();
  }
  // Six standard deviations.
  assert.ok(Math.abs(shadow.requests.length - 100) < 50, `${shadow.requests.length} of 300`);
});

test("a block's mirrors replace those of its site, of either kind", async () => {
  using upstream = await UpstreamFixture.serving(ok('original'));
  using ofSite = await UpstreamFixture.serving(ok(''));
  using ofBlock = await UpstreamFixture.serving(ok(''));
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test', upstream),
      mirror: { upstream: ofSite.address },
      handles: [
        { path: '/own', mirrors: [{ upstreams: [{ address: ofBlock.address }] }] },
        { path: '/none', mirrors: null },
      ],
    },
  ]);
  for (const path of ['/none', '/own', '/']) await proxy.request(get(path));
  await eventually('the copies', () => ofSite.requests.length === 1 && ofBlock.requests.length === 1);
  assert.match(ofBlock.requests[0]?.line ?? '', /^GET \/own /);
  assert.match(ofSite.requests[0]?.line ?? '', /^GET \/ /);
});

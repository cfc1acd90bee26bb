import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAILURES_TO_EJECT } from '../../ledger/targets.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

test('an unknown host is answered with 404, in HTML or JSON depending on Accept', async () => {
  using proxy = await ProxyFixture.before({ address: await refusingAddress() });
  const page = await proxy.request(get('/', 'Accept: text/html,*/*\r\n').replace('a.test', 'b.test'));
  assert.match(page.line, / 404 /);
  assert.match(page.head, /Content-Type: text\/html/);
  const json = await proxy.request(get('/', 'Accept: application/json\r\n').replace('a.test', 'b.test'));
  assert.deepEqual(JSON.parse(json.body), { error: 'Not Found', status: 404 });
});

test('a refused connection is answered with 502, and the page does not name the target', async () => {
  const address = await refusingAddress();
  using proxy = await ProxyFixture.before({ address });
  const answer = await proxy.request(get());
  assert.match(answer.line, / 502 /);
  assert.doesNotMatch(answer.head + answer.body, new RegExp(address.split(':')[1] ?? ''));
  assert.equal(field(answer.head, 'X-Content-Type-Options'), 'nosniff');
});

test('a host name that does not resolve is answered with 502', async () => {
  using proxy = await ProxyFixture.before({ address: 'nowhere.invalid:80' });
  assert.match((await proxy.request(get())).line, / 502 /);
});

test('a pool without a target in rotation is answered with 503 and Retry-After', async () => {
  const route = { ...site('a.test'), upstreams: [{ address: '127.0.0.1:1', state: 'unhealthy' as const }] };
  using proxy = await ProxyFixture.start([route]);
  const answer = await proxy.request(get());
  assert.match(answer.line, / 503 /);
  assert.equal(field(answer.head, 'Retry-After'), '1');
});

for (const [what, bytes] of [
  ['something other than HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['a head that is cut off', 'HTTP/1.1 200 OK\r\nContent-'],
  ['nothing before it closes', ''],
  ['a switch of protocols without a request for it', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'],
  ['both framings', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['an endless head', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(263_000)}`],
] as const)
  test(`an upstream that sends ${what} is answered with 502, and its connection is not reused`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.before(upstream);
    const client = await proxy.connect();
    client.send(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n`);
    const { wire } = await upstream.nextRequest();
    if (what.startsWith('nothing') || what.endsWith('cut off')) wire.end(bytes);
    else wire.send(bytes);
    const answer = await client.readAnswer();
    assert.equal(answer.line, 'HTTP/1.1 502 Bad Gateway');
    await wire.until('the end', () => wire.ended || wire.closed);
    client.send(get());
    const next = await upstream.nextRequest();
    next.wire.send(ok('well'));
    assert.equal((await client.readAnswer()).body, 'well');
  });

test('bytes after the end of a response are dropped with their connection, never read as the next response', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send(ok('first'));
  assert.equal((await client.readAnswer()).body, 'first');
  wire.send(ok('smuggled'));
  await wire.until('the end', () => wire.ended || wire.closed);
  client.send(get());
  const next = await upstream.nextRequest();
  next.wire.send(ok('second'));
  assert.equal((await client.readAnswer()).body, 'second');
});

test('an upstream that does not begin its response within 60 s causes a 504 and no retry', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream, upstream);
  const client = await proxy.connect();
  client.send(get());
  await upstream.nextRequest();
  proxy.clock.pass(59_000);
  assert.equal(client.total, 0);
  proxy.clock.pass(2_000);
  assert.match((await client.readAnswer()).line, / 504 /);
  assert.equal(upstream.connections.length, 1);
});

test('time limits also apply to a connection that has been idle for minutes', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  for (let nth = 0; nth < 2; nth++) {
    const client = await proxy.connect();
    client.send(get());
    const { wire } = await upstream.nextRequest();
    if (nth === 0) {
      wire.send(ok('x'));
      await client.readAnswer();
      proxy.clock.pass(10_000);
      await wire.until('the idle connection to be dropped', () => wire.ended || wire.closed);
      proxy.clock.pass(200_000);
    } else {
      proxy.clock.pass(62_000);
      assert.match((await client.readAnswer()).line, / 504 /);
    }
  }
});

test('an upstream that stalls in the middle of its response leaves it visibly truncated', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
  await client.readThrough('abc');
  proxy.clock.pass(62_000);
  assert.doesNotMatch(await client.readAll(), /0\r\n\r\n/);
});

for (const [what, head] of [
  ['chunked', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'],
  ['of known length', 'Content-Length: 10\r\n\r\nabc'],
  ['delimited by the close', '\r\nabc'],
] as const)
  for (const version of ['1.0', '1.1'])
    test(`a response ${what} that is reset in the middle is visibly truncated for an HTTP/${version} client`, async () => {
      using upstream = await UpstreamFixture.start();
      using proxy = await ProxyFixture.before(upstream);
      const client = await proxy.connect();
      client.send(get().replace('HTTP/1.1', `HTTP/${version}`));
      const { wire } = await upstream.nextRequest();
      wire.send(`HTTP/1.1 200 OK\r\n${head}`);
      const head2 = await client.readHead();
      await client.until('the piece', () => client.unread.includes('abc'));
      wire.reset();
      const rest = await client.readAll();
      await client.until('the close', () => client.ended || client.closed);
      const delimited = field(head2, 'Transfer-Encoding') !== null || field(head2, 'Content-Length') !== null;
      assert.doesNotMatch(rest, /0\r\n\r\n/);
      assert.ok(client.failed || delimited, 'an orderly close would look like the end of the response');
    });

test('three consecutive failures eject a target, and a later response restores it', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream, { address: await refusingAddress() });
  const through = async () => {
    const client = await proxy.connect();
    client.send(get());
    const { wire } = await upstream.nextRequest();
    wire.send(ok('x', 'Connection: close\r\n'));
    return client.readAnswer();
  };
  for (let nth = 0; nth < 2 * FAILURES_TO_EJECT; nth++) assert.equal((await through()).body, 'x');
  const out = proxy.targetChanges();
  assert.equal(out.length, 1);
  assert.equal(out[0]?.healthy, false);
  for (let nth = 0; nth < 6; nth++) await through();
  assert.equal(proxy.targetChanges().length, 1);
});

test('an ejected target is tried again after 10 s, and its first response restores it', async () => {
  let broken = true;
  using upstream = await UpstreamFixture.serving((_, wire) => {
    if (!broken) return ok('well');
    wire.reset();
    return null;
  });
  using other = await UpstreamFixture.serving(ok('other'));
  using proxy = await ProxyFixture.before(upstream, other);
  for (let nth = 0; nth < 8; nth++) assert.equal((await proxy.request(get())).body, 'other');
  assert.equal(upstream.requests.length, FAILURES_TO_EJECT);
  broken = false;
  proxy.clock.pass(11_000);
  const answers = [await proxy.request(get()), await proxy.request(get())].map(({ body }) => body);
  assert.deepEqual(answers.sort(), ['other', 'well']);
  assert.deepEqual(
    proxy.targetChanges().map(({ healthy }) => healthy),
    [false, true],
  );
});

test('the last target of a pool stays in rotation however often it fails', async () => {
  let broken = true;
  using upstream = await UpstreamFixture.serving((_, wire) => {
    if (!broken) return ok('well');
    wire.reset();
    return null;
  });
  using proxy = await ProxyFixture.before(upstream);
  for (let nth = 0; nth < 5; nth++) assert.match((await proxy.request(get())).line, / 502 /);
  broken = false;
  assert.equal((await proxy.request(get())).body, 'well');
});

test('a client that stops sending never counts against the target', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  for (let nth = 0; nth < FAILURES_TO_EJECT + 1; nth++) {
    const client = await proxy.connect();
    client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    const wire = await upstream.accept();
    await wire.readThrough('abc');
    await eventually('the stalled client to be cut', () => {
      proxy.clock.pass(30_000);
      return client.ended || client.closed;
    });
    assert.match(client.unread, /^HTTP\/1\.1 408 /);
  }
  assert.deepEqual(proxy.targetChanges(), []);
  assert.equal(proxy.counted().get('a.test')?.classes[3], FAILURES_TO_EJECT + 1);
});

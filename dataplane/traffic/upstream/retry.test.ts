import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAILURES_TO_EJECT, targetKey } from '../../ledger/targets.ts';
import { eventually, get, ProxyFixture } from '../testing/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../testing/test-upstream.ts';

const post = (body: string, fields = '') => `POST / HTTP/1.1\r\nHost: a.test\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;

/** A target that answers the first request of its first connection and cuts that connection at its second one. */
async function staleAfterOne(): Promise<UpstreamFixture> {
  const upstream: UpstreamFixture = await UpstreamFixture.serving((_, wire) => {
    if (wire !== upstream.connections[0] || upstream.requests.length === 1) return ok('answered');
    wire.reset();
    return null;
  });
  return upstream;
}

test('a GET on an idle connection that dies under it is sent once more, on a fresh one, to the same target', async () => {
  using upstream = await staleAfterOne();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  for (let nth = 0; nth < 2; nth++) {
    client.send(get());
    assert.equal((await client.readAnswer()).body, 'answered');
  }
  assert.equal(upstream.requests.length, 3);
  assert.equal(upstream.connections.length, 2);
});

test('a PUT whose body was held is sent again with its body', async () => {
  using upstream = await staleAfterOne();
  using proxy = await ProxyFixture.before(upstream);
  await proxy.ask(get());
  assert.equal((await proxy.ask(post('content').replace('POST', 'PUT'))).body, 'answered');
  assert.deepEqual(
    upstream.requests.map(({ body }) => body),
    ['', 'content', 'content'],
  );
});

test('a DELETE is sent again as well', async () => {
  using upstream = await staleAfterOne();
  using proxy = await ProxyFixture.before(upstream);
  await proxy.ask(get());
  assert.equal((await proxy.ask(get().replace('GET', 'DELETE'))).body, 'answered');
  assert.equal(upstream.requests.length, 3);
});

test('an idle connection that died says nothing about its target, however often', async () => {
  // Every second request of a connection finds it cut.
  const served = new Set<unknown>();
  using upstream = await UpstreamFixture.serving((_, wire) => {
    if (!served.has(wire)) {
      served.add(wire);
      return ok('answered');
    }
    wire.reset();
    return null;
  });
  using proxy = await ProxyFixture.before(upstream);
  const failures = () => proxy.ledger.targets.failures(proxy.ledger.targets.find(targetKey(upstream.address, false)));
  for (let nth = 0; nth < 2 * FAILURES_TO_EJECT; nth++) {
    assert.equal((await proxy.ask(get())).body, 'answered');
    assert.equal(failures(), 0);
  }
  assert.match((await proxy.ask(post('x'))).line, / 502 /, 'one that is not sent again');
  assert.equal(failures(), 0);
});

test('once more is once: a fresh connection that dies too is 502, and that one counts', async () => {
  using upstream = await UpstreamFixture.serving((_, wire) => {
    if (upstream.requests.length === 1) return ok('answered');
    wire.reset();
    return null;
  });
  using proxy = await ProxyFixture.before(upstream);
  await proxy.ask(get());
  assert.match((await proxy.ask(get())).line, / 502 /);
  assert.equal(upstream.requests.length, 3);
  assert.equal(proxy.ledger.targets.failures(proxy.ledger.targets.find(targetKey(upstream.address, false))), 1);
});

test('a target that does not begin its answer in time is 504, and nobody else is asked', async () => {
  using silent = await UpstreamFixture.serving(() => null);
  using other = await UpstreamFixture.serving(ok('other'));
  using proxy = await ProxyFixture.before(silent, other);
  const answer = proxy.ask(get());
  await eventually('the request to arrive', () => silent.requests.length === 1);
  proxy.clock.pass(61_000);
  assert.match((await answer).line, / 504 /);
  assert.equal(other.requests.length, 0);
});

for (const [what, body] of [
  ['with a body', 'content'],
  ['without a body', ''],
])
  test(`a POST ${what} that was written to a connection that dies is not sent twice: 502`, async () => {
    using upstream = await staleAfterOne();
    using other = await UpstreamFixture.serving(ok('other'));
    using proxy = await ProxyFixture.before(upstream);
    await proxy.ask(get());
    assert.match((await proxy.ask(post(body ?? ''))).line, / 502 /);
    assert.equal(upstream.requests.length, 2);
    assert.equal(other.requests.length, 0);
  });

test('an idle connection that its target closed is not used: even a POST goes through', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered'));
  using proxy = await ProxyFixture.before(upstream);
  await proxy.ask(get());
  const idle = upstream.connections[0];
  idle?.end();
  await eventually('the proxy to let go', () => idle?.closed === true);
  assert.equal((await proxy.ask(post('content'))).body, 'answered');
  assert.equal(upstream.requests.length, 2);
});

test('a streamed body of which a byte is gone is not sent again', async () => {
  using upstream = await staleAfterOne();
  using proxy = await ProxyFixture.before(upstream);
  await proxy.ask(get());
  const client = await proxy.connect();
  client.send('PUT / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n');
  assert.match((await client.readAnswer()).line, / 502 /);
  assert.equal(upstream.requests.length, 2);
});

test('a chunked body that turned out empty is gone too: nobody waits for its end twice', async () => {
  using upstream = await staleAfterOne();
  using proxy = await ProxyFixture.before(upstream);
  await proxy.ask(get());
  const client = await proxy.connect();
  client.send('PUT / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
  assert.match((await client.readAnswer()).line, / 502 /);
  assert.equal(upstream.requests.length, 2);
});

test('a PUT that waits for 100 moves to a fresh connection, and its body follows the head there', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const warm = proxy.ask(get());
  const { wire: stale } = await upstream.asked();
  stale.send(ok(''));
  await warm;
  const client = await proxy.connect();
  client.send('PUT / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n');
  await stale.readHead();
  stale.reset();
  // The client waits no longer: its body may come before the fresh connection is established.
  client.send('hello');
  const { wire, request } = await upstream.asked();
  assert.equal(request.body, 'hello');
  wire.send(ok('stored'));
  assert.equal((await client.readAnswer()).body, 'stored');
});

for (const method of ['GET', 'POST', 'PATCH'])
  test(`a refused connection sends a ${method} to another target`, async () => {
    using upstream = await UpstreamFixture.serving((request) => ok(request.body));
    using proxy = await ProxyFixture.before({ address: await refusingAddress() }, upstream);
    for (let nth = 0; nth < 2; nth++) assert.equal((await proxy.ask(post('content').replace('POST', method))).body, 'content');
    assert.equal(upstream.requests.length, 2);
  });

test('a streaming body that no target has taken a byte of goes to another one whole', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(String(request.body.length)));
  using proxy = await ProxyFixture.before({ address: await refusingAddress() }, upstream);
  for (let nth = 0; nth < 2; nth++) assert.equal((await proxy.ask(post('x'.repeat(100_000)))).body, '100000');
});

test('a GET that one target drops goes to another, a POST does not', async () => {
  const cut = (_: unknown, wire: { reset(): void }) => {
    wire.reset();
    return null;
  };
  using first = await UpstreamFixture.serving(cut);
  using second = await UpstreamFixture.serving(ok('second'));
  using proxy = await ProxyFixture.before(first, second);
  assert.equal((await proxy.ask(get())).body, 'second');
  assert.equal((await proxy.ask(post('x'))).line, 'HTTP/1.1 502 Bad Gateway');
  assert.deepEqual([first.requests.length, second.requests.length], [2, 1]);
});

test('three targets at most are tried', async () => {
  using last = await UpstreamFixture.serving(ok('last'));
  const refusing = await Promise.all(Array.from({ length: 3 }, async () => ({ address: await refusingAddress() })));
  using proxy = await ProxyFixture.before(...refusing, last);
  assert.match((await proxy.ask(get())).line, / 502 /);
  assert.equal((await proxy.ask(get())).body, 'last');
});

test('a target whose answer has begun is never asked twice', async () => {
  using upstream = await UpstreamFixture.serving((_, wire) => {
    wire.send('HTTP/1.1 200 OK\r\nContent-Le');
    wire.end();
    return null;
  });
  using other = await UpstreamFixture.serving(ok('other'));
  using proxy = await ProxyFixture.before(upstream, other);
  assert.match((await proxy.ask(get())).line, / 502 /);
  assert.deepEqual([upstream.requests.length, other.requests.length], [1, 0]);
});

test('a malformed answer is 502 at once', async () => {
  using upstream = await UpstreamFixture.serving('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab');
  using other = await UpstreamFixture.serving(ok('other'));
  using proxy = await ProxyFixture.before(upstream, other);
  assert.match((await proxy.ask(get())).line, / 502 /);
  assert.equal(other.requests.length, 0);
});

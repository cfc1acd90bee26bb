import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAILURES_TO_EJECT, targetKey } from '../../../ledger/targets.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../../testing/test-upstream.ts';

const post = (body: string, fields = '') => `POST / HTTP/1.1\r\nHost: a.test\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;

/** A target that answers the first request of its first connection and closes that connection at the second. */
async function staleAfterOne(): Promise<UpstreamFixture> {
  const upstream: UpstreamFixture = await UpstreamFixture.serving((_, wire) => {
    if (wire !== upstream.connections[0] || upstream.requests.length === 1) return ok('answered');
    wire.reset();
    return null;
  });
  return upstream;
}

test('a GET on an idle connection that was closed is retried once, on a new connection to the same target', async () => {
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

test('a PUT with a buffered body is retried with its body', async () => {
  using upstream = await staleAfterOne();
  using proxy = await ProxyFixture.before(upstream);
  await proxy.request(get());
  assert.equal((await proxy.request(post('content').replace('POST', 'PUT'))).body, 'answered');
  assert.deepEqual(
    upstream.requests.map(({ body }) => body),
    ['', 'content', 'content'],
  );
});

test('a DELETE is retried too', async () => {
  using upstream = await staleAfterOne();
  using proxy = await ProxyFixture.before(upstream);
  await proxy.request(get());
  assert.equal((await proxy.request(get().replace('GET', 'DELETE'))).body, 'answered');
  assert.equal(upstream.requests.length, 3);
});

test('a stale idle connection says nothing about its target, however often it happens', async () => {
  // Every second request of a connection finds it closed.
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
    assert.equal((await proxy.request(get())).body, 'answered');
    assert.equal(failures(), 0);
  }
  assert.match((await proxy.request(post('x'))).line, / 502 /, 'one that is not retried');
  assert.equal(failures(), 0);
});

test('a request is retried once on a new connection: if that closes too, it is a 502 that counts', async () => {
  using upstream = await UpstreamFixture.serving((_, wire) => {
    if (upstream.requests.length === 1) return ok('answered');
    wire.reset();
    return null;
  });
  using proxy = await ProxyFixture.before(upstream);
  await proxy.request(get());
  assert.match((await proxy.request(get())).line, / 502 /);
  assert.equal(upstream.requests.length, 3);
  assert.equal(proxy.ledger.targets.failures(proxy.ledger.targets.find(targetKey(upstream.address, false))), 1);
});

test('a target that does not begin its response in time causes a 504, and no other target is tried', async () => {
  using silent = await UpstreamFixture.serving(() => null);
  using other = await UpstreamFixture.serving(ok('other'));
  using proxy = await ProxyFixture.before(silent, other);
  const answer = proxy.request(get());
  await eventually('the request to arrive', () => silent.requests.length === 1);
  proxy.clock.pass(61_000);
  assert.match((await answer).line, / 504 /);
  assert.equal(other.requests.length, 0);
});

for (const [what, body] of [
  ['with a body', 'content'],
  ['without a body', ''],
])
  test(`a POST ${what} that was written to a connection that closes is not retried, but answered with 502`, async () => {
    using upstream = await staleAfterOne();
    using other = await UpstreamFixture.serving(ok('other'));
    using proxy = await ProxyFixture.before(upstream);
    await proxy.request(get());
    assert.match((await proxy.request(post(body ?? ''))).line, / 502 /);
    assert.equal(upstream.requests.length, 2);
    assert.equal(other.requests.length, 0);
  });

test('an idle connection that its target has closed is not used, so even a POST succeeds', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered'));
  using proxy = await ProxyFixture.before(upstream);
  await proxy.request(get());
  const idle = upstream.connections[0];
  idle?.end();
  await eventually('the proxy to close it', () => idle?.closed === true);
  assert.equal((await proxy.request(post('content'))).body, 'answered');
  assert.equal(upstream.requests.length, 2);
});

test('a streamed body is not retried once a byte of it was sent', async () => {
  using upstream = await staleAfterOne();
  using proxy = await ProxyFixture.before(upstream);
  await proxy.request(get());
  const client = await proxy.connect();
  client.send('PUT / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n');
  assert.match((await client.readAnswer()).line, / 502 /);
  assert.equal(upstream.requests.length, 2);
});

test('a chunked body that turned out to be empty counts as sent, so no attempt waits twice for its end', async () => {
  using upstream = await staleAfterOne();
  using proxy = await ProxyFixture.before(upstream);
  await proxy.request(get());
  const client = await proxy.connect();
  client.send('PUT / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
  assert.match((await client.readAnswer()).line, / 502 /);
  assert.equal(upstream.requests.length, 2);
});

test('a PUT that waits for 100 Continue is retried on a new connection, followed by its body', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const warm = proxy.request(get());
  const { wire: stale } = await upstream.nextRequest();
  stale.send(ok(''));
  await warm;
  const client = await proxy.connect();
  client.send('PUT / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n');
  await stale.readHead();
  stale.reset();
  // The client stops waiting, so its body may arrive before the new connection is established.
  client.send('hello');
  const { wire, request } = await upstream.nextRequest();
  assert.equal(request.body, 'hello');
  wire.send(ok('stored'));
  assert.equal((await client.readAnswer()).body, 'stored');
});

for (const method of ['GET', 'POST', 'PATCH'])
  test(`a ${method} is sent to another target when a connection is refused`, async () => {
    using upstream = await UpstreamFixture.serving((request) => ok(request.body));
    using proxy = await ProxyFixture.before({ address: await refusingAddress() }, upstream);
    for (let nth = 0; nth < 2; nth++) assert.equal((await proxy.request(post('content').replace('POST', method))).body, 'content');
    assert.equal(upstream.requests.length, 2);
  });

test('a streaming body is sent to another target complete if no target has received a byte of it', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(String(request.body.length)));
  using proxy = await ProxyFixture.before({ address: await refusingAddress() }, upstream);
  for (let nth = 0; nth < 2; nth++) assert.equal((await proxy.request(post('x'.repeat(100_000)))).body, '100000');
});

test('a GET that a target drops is retried on another one, a POST is not', async () => {
  const cut = (_: unknown, wire: { reset(): void }) => {
    wire.reset();
    return null;
  };
  using first = await UpstreamFixture.serving(cut);
  using second = await UpstreamFixture.serving(ok('second'));
  using proxy = await ProxyFixture.before(first, second);
  assert.equal((await proxy.request(get())).body, 'second');
  assert.equal((await proxy.request(post('x'))).line, 'HTTP/1.1 502 Bad Gateway');
  assert.deepEqual([first.requests.length, second.requests.length], [2, 1]);
});

/** A target that closes each connection after it has got a request. */
const dropping = () =>
  UpstreamFixture.serving((_, wire) => {
    wire.reset();
    return null;
  });
const refusing = (count: number) => Promise.all(Array.from({ length: count }, async () => ({ address: await refusingAddress() })));

test('at most three targets get a request', async () => {
  using last = await UpstreamFixture.serving(ok('last'));
  using one = await dropping();
  using two = await dropping();
  using three = await dropping();
  using proxy = await ProxyFixture.before(one, two, three, last);
  assert.match((await proxy.request(get())).line, / 502 /);
  assert.equal((await proxy.request(get())).body, 'last');
});

test('targets that refuse the connection do not count as retries, so a serving target is found among many that just ended', async () => {
  using last = await UpstreamFixture.serving(ok('last'));
  using proxy = await ProxyFixture.before(...(await refusing(12)), last);
  assert.equal((await proxy.request(post('1'))).body, 'last');
  using other = await dropping();
  await proxy.publish([{ ...site('a.test'), upstreams: [...(await refusing(40)), { address: other.address }] }]);
  assert.match((await proxy.request(get())).line, / 502 /);
  assert.equal(other.requests.length, 0, 'after 16 of them, they count');
});

test('a route decides on how many other targets a request is tried', async () => {
  using last = await UpstreamFixture.serving(ok('last'));
  using one = await dropping();
  using two = await dropping();
  using three = await dropping();
  using proxy = await ProxyFixture.start([{ ...site('a.test', one, two, three, last), lb_retries: 3 }]);
  assert.equal((await proxy.request(get())).body, 'last');
  const [first] = await refusing(1);
  await proxy.publish([{ ...site('a.test'), upstreams: [{ address: first?.address ?? '' }, { address: last.address }], lb_retries: 0 }]);
  const lines = [await proxy.request(get()), await proxy.request(get())].map(({ line }) => line.split(' ')[1]);
  assert.deepEqual(lines.sort(), ['200', '502']);
});

test('a request is never retried once its response has begun', async () => {
  using upstream = await UpstreamFixture.serving((_, wire) => {
    wire.send('HTTP/1.1 200 OK\r\nContent-Le');
    wire.end();
    return null;
  });
  using other = await UpstreamFixture.serving(ok('other'));
  using proxy = await ProxyFixture.before(upstream, other);
  assert.match((await proxy.request(get())).line, / 502 /);
  assert.deepEqual([upstream.requests.length, other.requests.length], [1, 0]);
});

test('a malformed response is answered with 502 at once', async () => {
  using upstream = await UpstreamFixture.serving('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab');
  using other = await UpstreamFixture.serving(ok('other'));
  using proxy = await ProxyFixture.before(upstream, other);
  assert.match((await proxy.request(get())).line, / 502 /);
  assert.equal(other.requests.length, 0);
});

test('a request whose only target drops it is sent to a target that was added to the site meanwhile', async () => {
  using old = await UpstreamFixture.start();
  using added = await UpstreamFixture.serving(ok('answered by the new one'));
  using proxy = await ProxyFixture.before(old);
  for (const [fields, reads] of [
    ['', 1],
    ['X-Second: 1\r\n', 2],
  ] as const) {
    await proxy.publish([site('a.test', old)]);
    const client = await proxy.connect();
    client.send(get('/', fields));
    const { wire } = await old.nextRequest();
    await proxy.publish([site('a.test', old, added)]);
    wire.reset();
    assert.equal((await client.readAnswer()).body, 'answered by the new one');
    assert.equal(added.requests.length, reads);
  }
});

test('a request that every target drops is not served again at each change of the table', async () => {
  const targets: UpstreamFixture[] = [];
  using proxy = await ProxyFixture.start([]);
  try {
    for (let nth = 0; nth < 6; nth++) targets.push(await UpstreamFixture.start());
    await proxy.publish([site('a.test', targets[0] as UpstreamFixture)]);
    const client = await proxy.connect();
    client.send(get());
    let dropped = 0;
    for (const [at, target] of targets.entries()) {
      if (client.unread !== '') break;
      const { wire } = await target.nextRequest();
      const next = targets[at + 1];
      if (next) await proxy.publish([site('a.test', next)]);
      wire.reset();
      dropped++;
      await eventually('an answer, or another request', () => client.unread !== '' || (next?.connections.length ?? 0) > 0);
    }
    assert.match((await client.readAnswer()).line, / 502 /);
    assert.equal(dropped, 4);
  } finally {
    for (const target of targets) target[Symbol.dispose]();
  }
});

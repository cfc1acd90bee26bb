import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HEAD_COST, QUANTUM, RunQueue } from '../io/run-queue.ts';
import { block, FLAG, FRAME, Frames, frame, head } from '../testing/http2/frames.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

const TINY = '1\r\nZ\r\n';
const CHUNKED_POST = 'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n';
const CHUNKED_ANSWER = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
/** The maximum number of chunks that 100,000 tiny ones may become: one per read. */
const FEW = 2_000;

/** The data of a chunked body, and in how many chunks it arrived. */
function dechunk(text: string): { body: string; chunks: number } {
  let body = '';
  let chunks = 0;
  let at = 0;
  for (;;) {
    const line = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, line), 16);
    if (size === 0) return { body, chunks };
    body += text.slice(line + 2, line + 2 + size);
    at = line + 4 + size;
    chunks++;
  }
}

test('a request with 100,000 one-byte chunks reaches its upstream in few chunks', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(`${CHUNKED_POST}${TINY.repeat(100_000)}0\r\n\r\n`);
  const wire = await upstream.accept();
  await wire.readHead();
  const { body, chunks } = dechunk(await wire.readThrough('\r\n0\r\n\r\n'));
  assert.equal(body, 'Z'.repeat(100_000));
  assert.ok(chunks < FEW, `${chunks} chunks`);
  wire.send(ok('taken'));
  assert.equal((await client.readAnswer()).body, 'taken');
});

test('a response with 100,000 one-byte chunks reaches its client in few chunks', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send(`${CHUNKED_ANSWER}${TINY.repeat(100_000)}0\r\n\r\n`);
  await client.readHead();
  const { body, chunks } = dechunk(await client.readThrough('\r\n0\r\n\r\n'));
  assert.equal(body, 'Z'.repeat(100_000));
  assert.ok(chunks < FEW, `${chunks} chunks`);
});

test('chunks of all sizes pass unchanged in both directions, also if they are read in many turns', async () => {
  let whole = '';
  let coded = '';
  for (let nth = 0; whole.length < 3_000_000; nth++) {
    const piece = String.fromCharCode(97 + (nth % 26)).repeat(nth % 997 === 0 ? 70_000 : nth % 23 === 0 ? 5_000 : 1 + (nth % 40));
    whole += piece;
    coded += `${piece.length.toString(16)}${nth % 3 === 0 ? ';name="value"' : ''}\r\n${piece}\r\n`;
  }
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(`${CHUNKED_POST}${coded}0\r\n\r\n`);
  const wire = await upstream.accept();
  await wire.readHead();
  assert.equal(dechunk(await wire.readThrough('\r\n0\r\n\r\n')).body === whole, true);
  wire.send(`${CHUNKED_ANSWER}${coded}0\r\n\r\n`);
  await client.readHead();
  assert.equal(dechunk(await client.readThrough('\r\n0\r\n\r\n')).body === whole, true);
});

for (const [what, coded] of [
  ['one-byte chunks', TINY],
  ['long extensions', `1;${'a'.repeat(250)}\r\nZ\r\n`],
] as const)
  test(`other clients are answered while one sends ${what} as fast as it can`, async () => {
    using upstream = await UpstreamFixture.start();
    using other = await UpstreamFixture.serving(ok('well'));
    using proxy = await ProxyFixture.start([site('a.test', upstream), site('b.test', other)]);
    const client = await proxy.connect();
    const backlog = CHUNKED_POST + coded.repeat(12_000_000 / coded.length);
    client.send(backlog);
    const wire = await upstream.accept();
    await wire.readHead();
    assert.equal((await proxy.request('GET / HTTP/1.1\r\nHost: b.test\r\n\r\n')).body, 'well');
    assert.ok(wire.total < 1_000_000, `${wire.total} bytes of the backlog have been forwarded`);
  });

test('other clients are answered while an upstream sends one-byte chunks as fast as it can', async () => {
  using upstream = await UpstreamFixture.start();
  using other = await UpstreamFixture.serving(ok('well'));
  using proxy = await ProxyFixture.start([site('a.test', upstream), site('b.test', other)]);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  const backlog = CHUNKED_ANSWER + TINY.repeat(2_000_000);
  wire.send(backlog);
  await client.readHead();
  assert.equal((await proxy.request('GET / HTTP/1.1\r\nHost: b.test\r\n\r\n')).body, 'well');
  assert.ok(client.total < 1_000_000, `${client.total} bytes of the backlog have been forwarded`);
});

test('20,000 pipelined requests are all answered, and other clients in between', async () => {
  const fixed = (domain: string) => ({ domain, upstream: null, tls: false, respond: { status: 200, body: 'x' } });
  using proxy = await ProxyFixture.start([fixed('a.test'), fixed('b.test')]);
  const client = await proxy.connect();
  client.send(get().repeat(20_000));
  client.end();
  assert.equal((await proxy.request('GET / HTTP/1.1\r\nHost: b.test\r\n\r\n')).body, 'x');
  const answered = proxy.counted().get('a.test')?.requests ?? 0;
  assert.ok(answered < 10_000, `${answered} requests were answered first`);
  await client.until('the end', () => client.ended);
  assert.equal(proxy.counted().get('a.test')?.requests, 20_000);
  assert.equal(client.unread.split('HTTP/1.1 200 OK').length, 20_001);
});

/** How many requests with this path that are sent at once are answered, at most, before their client waits for its next turn. */
async function mostInATurn(t: TestContext, path: string, overHttp2 = false): Promise<number> {
  const count = overHttp2 ? 100 : 500;
  using proxy = await ProxyFixture.start([
    {
      domain: 'a.test',
      upstream: null,
      tls: false,
      responds: [{ status: 403, match: { path: ['*.php'] } }],
      respond: { status: 200, body: 'x' },
    },
  ]);
  const answered = () => proxy.counted().get('a.test')?.requests ?? 0;
  const turns: number[] = [0];
  const waits = t.mock.method(RunQueue.prototype, 'add', function (this: RunQueue, ...args: Parameters<RunQueue['add']>) {
    turns.push(answered());
    return Reflect.apply(add, this, args);
  });
  if (overHttp2) {
    using client = await Frames.plain(proxy.port);
    await client.greet().answered();
    const heads = Array.from({ length: count }, (_, nth) =>
      frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 2 * nth + 1, block(head([':path', path]))),
    );
    client.write(Buffer.concat(heads));
    await eventually('all to be answered', () => answered() === count);
  } else {
    const client = await proxy.connect();
    client.send(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`.repeat(count));
    await eventually('all to be answered', () => answered() === count);
  }
  waits.mock.restore();
  return Math.max(...turns.slice(1).map((so, nth) => so - (turns[nth] as number)));
}

const { add } = RunQueue.prototype;

test('a turn ends after fewer requests if their paths are expensive to check', async (t) => {
  const length = 1_900;
  const ordinary = await mostInATurn(t, `/${'a'.repeat(length - 1)}`);
  const [dots, escapes] = [await mostInATurn(t, `/${'.'.repeat(length - 4)}%20`), await mostInATurn(t, `/${'%25'.repeat(length / 3)}`)];
  assert.equal(ordinary, QUANTUM / HEAD_COST);
  for (const odd of [dots, escapes]) assert.ok(odd > 1 && odd <= QUANTUM / (HEAD_COST + length - 2) + 1, `${odd} in a turn`);
});

test('over HTTP/2 too, requests with paths that are expensive to check wait for the next turn', async (t) => {
  const length = 600;
  const odd = await mostInATurn(t, `/${'.'.repeat(length - 4)}%20`, true);
  assert.ok(odd > 1 && odd <= QUANTUM / (length - 2) + 1, `${odd} in a turn`);
});

test('requests over HTTP/2 whose heads are long are served in turns, although few bytes stand for them', async (t) => {
  const fixed = (domain: string) => ({ domain, upstream: null, tls: false, respond: { status: 200, body: 'x' } });
  using proxy = await ProxyFixture.start([fixed('a.test'), fixed('b.test')]);
  const answered = () => proxy.counted().get('a.test')?.requests ?? 0;
  const turns: number[] = [];
  t.mock.method(RunQueue.prototype, 'add', function (this: RunQueue, ...args: Parameters<RunQueue['add']>) {
    turns.push(answered());
    return Reflect.apply(add, this, args);
  });
  const fields = block([
    [':method', 'GET'],
    [':scheme', 'http'],
    [':authority', 'a.test'],
  ]);
  const length = 3_000;
  // `:path` with this value is added to the dynamic table, where its index is then 62 (RFC 7541 6.2.1, 6.1).
  const added = Buffer.concat([Buffer.from([0x44, 127, 128 | ((length - 127) % 128), (length - 127) >> 7]), Buffer.alloc(length, '/')]);
  using client = await Frames.plain(proxy.port);
  client.greet();
  client.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, Buffer.concat([fields, added]));
  await client.until('a response', () => client.of(1, FRAME.headers).length > 0);
  client.socket.cork();
  const streams = Array.from({ length: 100 }, (_, nth) => 2 * nth + 3);
  for (const stream of streams)
    client.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, Buffer.concat([fields, Buffer.from([0xbe])]));
  client.socket.uncork();
  await client.until('all responses', () => streams.every((stream) => client.of(stream, FRAME.headers).length > 0));
  assert.ok(turns.length > 1, 'several turns');
  const inEach = turns.slice(1).map((count, nth) => count - (turns[nth] as number));
  for (const count of inEach) assert.ok(count <= QUANTUM / (HEAD_COST + length) + 1, `${count} in a turn`);
  assert.equal((await proxy.request('GET / HTTP/1.1\r\nHost: b.test\r\n\r\n')).body, 'x');
  assert.equal(answered(), 101);
});

test('a client over HTTP/2 that disconnects while it waits for its turn leaks nothing', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await Frames.plain(proxy.port);
  client.greet().socket.cork();
  const long = 'x'.repeat(7_000);
  for (let stream = 1; stream < 128; stream += 2)
    client.request(stream, [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':authority', 'a.test'],
      [':path', `/${long}`],
    ]);
  client.socket.uncork();
  await upstream.accept();
  client.socket.resetAndDestroy();
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
});

test('a client that disconnects or is refused while it waits for its turn leaks nothing', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const [gone, refused] = [await proxy.connect(), await proxy.connect()];
  gone.send(CHUNKED_POST + TINY.repeat(200_000));
  refused.send(`${CHUNKED_POST}${TINY.repeat(200_000)}x`);
  const wires = [await upstream.accept(), await upstream.accept()];
  for (const wire of wires) await wire.readHead();
  gone.reset();
  assert.match((await refused.readAnswer()).line, /^HTTP\/1\.1 400 /);
  for (const wire of wires) await wire.until('the end of the request', () => wire.ended || wire.closed);
  refused.end();
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0 && proxy.ledger.connections.sockets() === 0);
});

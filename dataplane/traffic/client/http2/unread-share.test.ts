import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setThreadMemory } from '../../../../shared/runtime/thread-memory.ts';
import { FLAG, FRAME, Frames, head, INITIAL_WINDOW } from '../../testing/http2/frames.ts';
import { eventually, ProxyFixture, whenRead } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { HeldShare } from '../held-share.ts';
import { UnreadShare } from './unread-share.ts';

/** What clients may leave unread in all. */
const LIMIT = 134_217_728;
const SIZE = 60_000;

/** A client that reads nothing of this many responses, which are complete at the proxy. */
async function unreading(proxy: ProxyFixture, responses: number): Promise<Frames> {
  const client = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  const streams = Array.from({ length: responses }, (_, nth) => 2 * nth + 1);
  for (const stream of streams) client.request(stream);
  await client.until('the heads', () => streams.every((stream) => client.status(stream) === 200));
  await eventually('the exchanges to be over', () => proxy.ledger.inFlight.total() === 0);
  return client;
}

/** From now on, until the test ends, other clients leave twice as much unread as all may. */
function othersLeaveTooMuch(t: TestContext): void {
  const others = new UnreadShare(0);
  others.count(2 * LIMIT);
  t.after(() => others.count(0));
}

async function lost(client: Frames): Promise<number[]> {
  await client.answered();
  return client.received.filter(({ type }) => type === FRAME.reset).map(({ stream }) => stream);
}

async function pass(proxy: ProxyFixture, seconds: number): Promise<void> {
  for (let half = 0; half < 2 * seconds; half++) {
    proxy.clock.pass(500);
    await whenRead();
  }
}

test('while clients leave too much unread, one that reads nothing keeps one response, and others keep theirs', async (t) => {
  using upstream = await UpstreamFixture.serving(ok('x'.repeat(SIZE)));
  using proxy = await ProxyFixture.before(upstream);
  using many = await unreading(proxy, 10);
  using one = await unreading(proxy, 1);
  await pass(proxy, 5);
  assert.deepEqual(await lost(many), [], 'there is room');
  othersLeaveTooMuch(t);
  await pass(proxy, 3);
  assert.deepEqual(await lost(many), [19, 17, 15, 13, 11, 9, 7, 5, 3]);
  assert.deepEqual(await lost(one), []);
});

test('what waits until a request has ended counts as unread', async (t) => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  using client = (await Frames.plain(proxy.port)).greet();
  const streams = Array.from({ length: 10 }, (_, nth) => 2 * nth + 1);
  for (const stream of streams) {
    client.request(stream, head([':method', 'POST'], ['content-length', '100000']), 0);
    const wire = await upstream.accept();
    await wire.readHead();
    wire.send(ok('x'.repeat(SIZE)));
  }
  await eventually('the exchanges to be over', () => proxy.ledger.inFlight.total() === 0);
  othersLeaveTooMuch(t);
  await pass(proxy, 3);
  assert.deepEqual(await lost(client), [19, 17, 15, 13, 11, 9, 7, 5, 3]);
});

/** A client with ten requests with bodies of which all but this many bytes have been sent. */
async function uploading(proxy: ProxyFixture, missing: number): Promise<Frames> {
  const client = (await Frames.plain(proxy.port)).greet();
  for (let stream = 1; stream < 20; stream += 2) {
    client.request(stream, head([':method', 'POST'], ['content-length', `${SIZE + missing}`]), 0);
    for (let left = SIZE; left > 0; left -= 15_000) {
      const flags = left === 15_000 && missing === 0 ? FLAG.endStream : 0;
      client.send(FRAME.data, flags, stream, Buffer.alloc(15_000, 'x'));
    }
  }
  await client.answered();
  return client;
}

const failuresIn = ({ log }: ProxyFixture) => log.lines.flatMap(({ fields }) => ('failure' in fields ? [fields.failure] : []));

for (const [missing, which] of [
  [1, 'never complete'],
  [0, 'complete'],
] as const)
  test(`so do requests that are held, although they are ${which}, until their responses begin`, async (t) => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.before(upstream);
    using client = await uploading(proxy, missing);
    await pass(proxy, 3);
    assert.deepEqual(await lost(client), [], 'there is room');
    othersLeaveTooMuch(t);
    await pass(proxy, 3);
    assert.deepEqual(await lost(client), [19, 17, 15, 13, 11, 9, 7, 5, 3]);
    assert.deepEqual(new Set(failuresIn(proxy)), new Set(['left_held']));
  });

test('while too many bodies are held, others are passed on as they arrive', async (t) => {
  const others = new HeldShare();
  await eventually('bodies of earlier tests to be given up', () => others.reserve(2 * LIMIT));
  t.after(() => others.release());
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  using client = (await Frames.plain(proxy.port)).greet();
  client.request(1, head([':method', 'POST'], ['content-length', '5']), 0);
  client.send(FRAME.data, 0, 1, Buffer.from('hel'));
  const wire = await upstream.accept();
  await wire.readHead();
  client.send(FRAME.data, FLAG.endStream, 1, Buffer.from('lo'));
  wire.send(ok('x'));
  await client.until('the response', () => client.status(1) === 200);
});

test('the bodies that one connection announces are held up to a limit, and others are passed on as they arrive', async (t) => {
  setThreadMemory(134_217_728);
  t.after(() => setThreadMemory(Number.POSITIVE_INFINITY));
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  using client = (await Frames.plain(proxy.port)).greet();
  // 16 of 64 KB are 1 MB.
  for (let nth = 0; nth < 17; nth++) client.request(2 * nth + 1, head([':method', 'POST'], ['content-length', '65536']), 0);
  const wire = await upstream.accept();
  assert.match(await wire.readHead(), /content-length: 65536/i);
  assert.equal(proxy.ledger.inFlight.total(), 17);
  using other = (await Frames.plain(proxy.port)).greet();
  other.request(1, head([':method', 'POST'], ['content-length', '5']), 0);
  other.send(FRAME.data, 0, 1, Buffer.from('hel'));
  await whenRead();
  other.send(FRAME.data, FLAG.endStream, 1, Buffer.from('lo'));
  const next = await upstream.accept();
  await next.readHead();
  assert.equal(await next.read(5), 'hello');
});

test('a download whose client pauses goes on beside an older request that waits for its response, while others leave too much', async (t) => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  using client = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  client.request(1, head([':method', 'POST'], ['content-length', '5']), 0);
  client.send(FRAME.data, FLAG.endStream, 1, Buffer.from('hello'));
  await (await upstream.accept()).readHead();
  client.request(3);
  const wire = await upstream.accept();
  await wire.readHead();
  wire.send(ok('x'.repeat(10 * SIZE)));
  await client.until('the head', () => client.status(3) === 200);
  othersLeaveTooMuch(t);
  await pass(proxy, 3);
  assert.deepEqual(await lost(client), []);
});

test('requests whose responses have begun are no longer held', async (t) => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  using client = await uploading(proxy, 0);
  for (let stream = 1; stream < 20; stream += 2) {
    const wire = await upstream.accept();
    await wire.readHead();
    wire.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx');
  }
  await client.until('the responses', () => client.received.filter(({ type }) => type === FRAME.data).length === 10);
  othersLeaveTooMuch(t);
  await pass(proxy, 3);
  assert.deepEqual(await lost(client), []);
});

test('the log says why a response was given up', async (t) => {
  using upstream = await UpstreamFixture.serving(ok('x'.repeat(10 * SIZE)));
  using proxy = await ProxyFixture.before(upstream);
  using client = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  for (const stream of [1, 3]) client.request(stream);
  await client.until('the heads', () => [1, 3].every((stream) => client.status(stream) === 200));
  await whenRead();
  othersLeaveTooMuch(t);
  await pass(proxy, 3);
  assert.deepEqual(await lost(client), [3]);
  assert.deepEqual(failuresIn(proxy), ['left_unread']);
});

/** What others leave unread, and the share of one client. */
function shares(t: TestContext, others: number): UnreadShare {
  const [rest, share] = [new UnreadShare(0), new UnreadShare(0)];
  rest.count(others);
  t.after(() => {
    rest.count(0);
    share.count(0);
  });
  return share;
}

for (const [others, ms] of [
  [0, Number.POSITIVE_INFINITY],
  [0.9 * LIMIT, Number.POSITIVE_INFINITY],
  [LIMIT, 30_000],
  [1.5 * LIMIT, 15_000],
  [3 * LIMIT, 1_000],
  [4 * LIMIT, 0],
] as const)
  test(`a client has ${Number.isFinite(ms) ? `${ms} ms` : 'any time'} to read while others leave ${others / LIMIT} of the limit unread`, (t) => {
    const share = shares(t, others);
    const swept = Array.from({ length: 120 }, (_, nth) => ({ now: 500 * nth, excess: share.sweep(500 * nth, 1_000_000, 0) }));
    const first = swept.find(({ excess }) => excess > 0);
    if (first === undefined) return assert.equal(ms, Number.POSITIVE_INFINITY);
    assert.ok(Math.abs(first.now - ms) <= 500, `${first.now} ms`);
    assert.equal(first.excess, 1_000_000 - 65_536);
  });

test('a client that reads may leave as much unread as it reads in that time', (t) => {
  const share = shares(t, 2 * LIMIT);
  const sweep = (half: number, unread: number, read: number): number => share.sweep(500 * half, unread, read);
  for (let half = 1; half <= 20; half++) sweep(half, 0, 600_000);
  for (let half = 21; half <= 40; half++) assert.equal(sweep(half, 1_000_000, 600_000), 0);
  for (let half = 41; half < 60; half++) sweep(half, 1_000_000, 0);
  assert.ok(sweep(60, 1_000_000, 0) > 900_000);
});

test('slow downloads take no share, however many they are', (t) => {
  const [downloads, share] = [shares(t, 0), shares(t, 0)];
  for (let half = 0; half < 80; half++) {
    assert.equal(downloads.sweep(500 * half, 3 * LIMIT, 0, 3 * LIMIT), 0);
    assert.equal(share.sweep(500 * half, 1_000_000, 0), 0);
  }
});

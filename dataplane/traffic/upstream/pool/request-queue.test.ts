import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetKey } from '../../../ledger/targets.ts';
import { eventually, failedAt, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field, type Wire } from '../../testing/wire.ts';

/** A proxy whose target answers when the test says so. */
class Scene {
  readonly upstream: UpstreamFixture;
  readonly proxy: ProxyFixture;
  private readonly waiting: { readonly path: string; readonly wire: Wire }[];
  private answered = 0;

  private constructor(upstream: UpstreamFixture, proxy: ProxyFixture, waiting: Scene['waiting']) {
    this.upstream = upstream;
    this.proxy = proxy;
    this.waiting = waiting;
  }

  static async limitedTo(requests: number, more: { queue?: number; queue_secs?: number } = {}): Promise<Scene> {
    const waiting: Scene['waiting'] = [];
    const upstream = await UpstreamFixture.serving(({ line }, wire) => {
      waiting.push({ path: line.split(' ')[1] ?? '', wire });
      return null;
    });
    const proxy = await ProxyFixture.start([{ ...site('a.test', upstream), max_in_flight: { requests, ...more } }]);
    return new Scene(upstream, proxy, waiting);
  }

  /** Waits until the target has got this many requests. */
  got(count: number): Promise<void> {
    return eventually(`${count} requests`, () => this.upstream.requests.length >= count);
  }

  /** Answers the requests that the target has got, in their order, up to this many in total. */
  async answer(count: number): Promise<void> {
    await this.got(count);
    for (; this.answered < count; this.answered++) {
      const request = this.waiting[this.answered];
      request?.wire.send(ok(request.path));
    }
  }

  [Symbol.dispose](): void {
    this.proxy[Symbol.dispose]();
    this.upstream[Symbol.dispose]();
  }
}

test('a request over the limit of its only target is answered with 503 at once, and the next one after a response is sent', async () => {
  using scene = await Scene.limitedTo(2);
  const first = [scene.proxy.request(get('/1')), scene.proxy.request(get('/2'))];
  await scene.got(2);
  const over = await scene.proxy.request(get('/3'));
  assert.match(over.line, / 503 /);
  assert.equal(field(over.head, 'retry-after'), '1');
  await scene.answer(2);
  assert.deepEqual((await Promise.all(first)).map(({ body }) => body).sort(), ['/1', '/2']);
  const next = scene.proxy.request(get('/4'));
  await scene.answer(3);
  assert.equal((await next).body, '/4');
});

test('requests in the queue are sent in the order of their arrival, and never more at once than the limit', async () => {
  using scene = await Scene.limitedTo(1, { queue: 10 });
  const { proxy, upstream } = scene;
  const answers = [];
  for (let nth = 0; nth < 5; nth++) {
    answers.push(proxy.request(get(`/${nth}`)));
    await eventually('it to arrive', () => proxy.ledger.inFlight.total() === nth + 1);
  }
  for (let nth = 1; nth <= 5; nth++) {
    await scene.got(nth);
    assert.equal(upstream.requests.length, nth);
    await scene.answer(nth);
    await answers[nth - 1];
  }
  assert.deepEqual(
    upstream.requests.map(({ line }) => line.split(' ')[1]),
    ['/0', '/1', '/2', '/3', '/4'],
  );
  assert.equal(upstream.connections.length, 1, 'the connection is used again');
  assert.equal(proxy.ledger.targets.inFlight(proxy.ledger.targets.find(targetKey(upstream.address, false))), 0);
});

test('a full queue answers with 503, a client that leaves gives up its place, and waiting ends in time', async () => {
  using scene = await Scene.limitedTo(1, { queue: 2, queue_secs: 3 });
  const { proxy } = scene;
  (await proxy.connect()).send(get('/0'));
  await scene.got(1);
  const leaves = await proxy.connect();
  leaves.send(get('/1'));
  await eventually('it to wait', () => proxy.ledger.inFlight.total() === 2);
  const waits = proxy.request(get('/2'));
  await eventually('it to wait', () => proxy.ledger.inFlight.total() === 3);
  assert.match((await proxy.request(get('/3'))).line, / 503 /);
  leaves.reset();
  await eventually('its place to be free', () => proxy.ledger.inFlight.total() === 2);
  const late = proxy.request(get('/4'));
  await eventually('it to wait', () => proxy.ledger.inFlight.total() === 3);
  proxy.clock.pass(3_010);
  for (const answer of [await waits, await late]) assert.match(answer.line, / 503 /);
  assert.equal(scene.upstream.requests.length, 1);
});

test('with several targets, a full one is skipped', async () => {
  using slow = await UpstreamFixture.serving(() => null);
  using quick = await UpstreamFixture.serving(ok('quick'));
  using proxy = await ProxyFixture.start([{ ...site('a.test', slow, quick), max_in_flight: { requests: 1 } }]);
  (await proxy.connect()).send(get());
  await eventually('the request', () => slow.requests.length === 1);
  for (let nth = 0; nth < 6; nth++) assert.equal((await proxy.request(get())).body, 'quick');
  await proxy.publish([{ ...site('a.test', slow, quick), max_in_flight: { requests: 1 }, lb_policy: { policy: 'first' } }]);
  for (let nth = 0; nth < 6; nth++) assert.equal((await proxy.request(get())).body, 'quick');
  assert.equal(slow.requests.length, 1);
});

test('requests in flight of other workers count, and when those end the waiting ones are sent', async () => {
  using scene = await Scene.limitedTo(1, { queue: 10 });
  const { proxy, upstream } = scene;
  const { targets } = proxy.ledger;
  const slot = targets.claim(targetKey(upstream.address, false), proxy.clock.now());
  targets.begin(slot, 1);
  const waits = proxy.request(get('/1'));
  await eventually('it to wait', () => proxy.ledger.inFlight.total() === 1);
  proxy.clock.pass(20);
  assert.equal(upstream.requests.length, 0);
  targets.end(slot, 1);
  proxy.clock.pass(20);
  await scene.answer(1);
  assert.equal((await waits).body, '/1');
});

test('requests that wait are served by a newer table', async () => {
  using scene = await Scene.limitedTo(1, { queue: 10 });
  const { proxy } = scene;
  (await proxy.connect()).send(get('/0'));
  await scene.got(1);
  const waits = proxy.request(get('/1'));
  await eventually('it to wait', () => proxy.ledger.inFlight.total() === 2);
  using other = await UpstreamFixture.serving(ok('other'));
  await proxy.publish([site('a.test', other)]);
  proxy.clock.pass(20);
  assert.equal((await waits).body, 'other');
});

test('an upgrade counts from when its connection is opened until its tunnel ends', async () => {
  using scene = await Scene.limitedTo(1);
  const { proxy, upstream } = scene;
  const client = await proxy.connect();
  client.send(get('/', 'Connection: Upgrade\r\nUpgrade: custom\r\n'));
  await scene.got(1);
  const [wire] = upstream.connections;
  assert.ok(wire);
  assert.match((await proxy.request(get())).line, / 503 /);
  wire.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: custom\r\n\r\n');
  await client.until('the tunnel', () => client.unread.includes(' 101 '));
  assert.match((await proxy.request(get())).line, / 503 /);
  client.socket.destroy();
  const { targets } = proxy.ledger;
  await eventually('the end', () => targets.inFlight(targets.find(targetKey(upstream.address, false))) === 0);
  const next = proxy.request(get('/2'));
  await scene.answer(2);
  assert.equal((await next).body, '/2');
});

test('explain says how many requests a target gets and how many wait', async () => {
  using scene = await Scene.limitedTo(2, { queue: 10 });
  assert.equal(
    scene.proxy.dryRun('http://a.test/').verdict,
    'forwarded to its only target; each gets at most 2 at once, 10 more wait for up to 5 s',
  );
});

test('a request that waits for the only target that has not failed it does not delay those that another target can answer', async () => {
  using failing = await UpstreamFixture.start();
  using busy = await UpstreamFixture.start();
  const limit = { requests: 1, queue: 10, queue_secs: 30 };
  using proxy = await ProxyFixture.start([{ ...site('a.test', busy, failing), max_in_flight: limit }]);
  const long = await proxy.connect();
  long.send(get());
  const { wire } = await busy.nextRequest();
  const failed = await proxy.connect();
  failed.send(get());
  (await failing.nextRequest()).wire.reset();
  await failedAt(proxy, failing.address);
  for (let nth = 0; nth < 3; nth++) {
    const client = await proxy.connect();
    client.send(get());
    (await failing.nextRequest()).wire.send(ok('fine', 'Connection: close\r\n'));
    assert.equal((await client.readAnswer()).body, 'fine');
  }
  // Nor does it delay those that wait behind it.
  const answered = await proxy.connect();
  answered.send(get());
  const last = await failing.nextRequest();
  const behind = await proxy.connect();
  behind.send(get());
  await eventually('it to wait', () => proxy.ledger.inFlight.total() === 4);
  last.wire.send(ok('fine', 'Connection: close\r\n'));
  (await failing.nextRequest()).wire.send(ok('next', 'Connection: close\r\n'));
  assert.equal((await behind.readAnswer()).body, 'next');
  wire.send(ok('long'));
  await wire.readRequest();
  wire.send(ok('retried'));
  assert.equal((await failed.readAnswer()).body, 'retried');
});

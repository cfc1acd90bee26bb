import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { targetKey } from '../../ledger/targets.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field, type Wire } from '../testing/wire.ts';

/** One client, one upstream, and the stage that their exchange has reached. */
type Scene = {
  readonly proxy: ProxyFixture;
  readonly upstream: UpstreamFixture;
  readonly client: Wire;
  /** The upstream's side of the exchange; null if there is none yet. */
  readonly target: Wire | null;
};
type Stage = {
  readonly what: string;
  readonly tls?: true;
  /** Brings client and upstream to this stage. @returns the upstream's side. */
  reach(client: Wire, upstream: UpstreamFixture, proxy: ProxyFixture): Promise<Wire | null>;
  /** What the client must see if the upstream resets; absent if there is no upstream connection yet. */
  afterTarget?(client: Wire): Promise<void>;
};

const HEAD = 'HTTP/1.1 200 OK\r\n';
const post = (length: number): string => `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${length}\r\n\r\n`;

/** Sends a GET and the beginning of its response. */
const answering = (begin: string, seen: string) => async (client: Wire, upstream: UpstreamFixture) => {
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send(begin);
  if (seen !== '') await client.readThrough(seen);
  return wire;
};
const isBadGateway = async (client: Wire) => {
  assert.match((await client.readAnswer()).line, /^HTTP\/1\.1 502 /);
};
/** What arrived is not a complete response: it has neither its full length nor its last chunk, and the connection is closed. */
const isCut = async (client: Wire) => {
  const rest = await client.readAll();
  assert.doesNotMatch(rest, /HTTP\/1\.1|\r\n0\r\n|^0\r\n/);
};

const STAGES: readonly Stage[] = [
  { what: 'before a byte', reach: async () => null },
  {
    what: 'inside the head',
    reach: async (client) => {
      client.send('GET / HTTP/1.1\r\nHost');
      return null;
    },
  },
  {
    what: 'after the head, before its small body',
    reach: async (client, _, proxy) => {
      client.send(post(10));
      await eventually('the request to be under way', () => proxy.ledger.inFlight.total() === 1);
      return null;
    },
  },
  {
    what: 'inside a body that is buffered',
    reach: async (client, _, proxy) => {
      client.send(`${post(10)}12345`);
      await eventually('the request to be under way', () => proxy.ledger.inFlight.total() === 1);
      return null;
    },
  },
  {
    what: 'inside a streamed body',
    reach: async (client, upstream) => {
      client.send(`${post(100_000)}12345`);
      const wire = await upstream.accept();
      await wire.readThrough('12345');
      return wire;
    },
    afterTarget: isBadGateway,
  },
  {
    what: 'inside a chunk of a streamed body',
    reach: async (client, upstream) => {
      client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n12345');
      const wire = await upstream.accept();
      await wire.readThrough('12345');
      return wire;
    },
    afterTarget: isBadGateway,
  },
  {
    what: 'while the proxy connects to the target',
    tls: true,
    reach: async (client, upstream) => {
      client.send(get());
      const wire = await upstream.accept();
      await wire.until('the beginning of the handshake', () => wire.total > 0);
      return wire;
    },
    afterTarget: isBadGateway,
  },
  { what: 'while the proxy waits for the response head', reach: answering('', ''), afterTarget: isBadGateway },
  { what: 'inside the response head', reach: answering(`${HEAD}X-Half: on`, ''), afterTarget: isBadGateway },
  {
    what: 'between an interim response and the final one',
    reach: answering('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', '\r\n\r\n'),
    afterTarget: isBadGateway,
  },
  { what: 'inside a body of known length', reach: answering(`${HEAD}Content-Length: 10\r\n\r\nabcde`, 'abcde'), afterTarget: isCut },
  {
    what: 'inside a chunked body',
    reach: answering(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n5\r\nfg`, 'fg'),
    afterTarget: isCut,
  },
  { what: 'inside a body delimited by the close', reach: answering(`${HEAD}\r\nabcde`, 'abcde'), afterTarget: isCut },
  {
    what: 'inside the trailers',
    reach: answering(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\nX-Check: ha`, 'abcde\r\n'),
    afterTarget: isCut,
  },
  {
    what: 'while the client does not read',
    reach: async (client, upstream) => {
      client.socket.pause();
      client.send(get());
      const { wire } = await upstream.nextRequest();
      const piece = Buffer.alloc(1 << 20, 'x');
      wire.send(`${HEAD}Content-Length: ${1 << 28}\r\n\r\n`);
      for (let sent = 0; sent < 32; sent++) wire.send(piece);
      await eventually('more than 1 MB to be accepted', () => wire.socket.bytesWritten - wire.socket.writableLength > 1 << 20);
      return wire;
    },
    afterTarget: async (client) => {
      client.socket.resume();
      await client.until('the end', () => client.ended || client.closed);
      assert.ok(client.total < 1 << 28);
      await client.readAll();
    },
  },
  {
    what: 'while the target does not read',
    reach: async (client, upstream) => {
      client.send(post(1 << 28));
      const wire = await upstream.accept();
      await wire.readHead();
      wire.socket.pause();
      for (let sent = 0; sent < 32; sent++) client.send(Buffer.alloc(1 << 20, 'x'));
      return wire;
    },
    // The client is still sending, so its response may be overtaken by the reset that its bytes cause, but it must receive nothing else.
    afterTarget: async (client) => {
      assert.match(await client.readAll(), /^(?:$|HTTP\/1\.1 502 )/);
    },
  },
  {
    what: 'while the worker drains',
    reach: async (client, upstream, proxy) => {
      const wire = await answering(`${HEAD}Content-Length: 10\r\n\r\nabcde`, 'abcde')(client, upstream);
      proxy.drain();
      return wire;
    },
    afterTarget: isCut,
  },
  {
    what: 'after an early response, while the body is still arriving',
    reach: async (client, upstream) => {
      client.send(`${post(100_000)}12345`);
      const wire = await upstream.accept();
      await wire.readThrough('12345');
      wire.send(`${HEAD}Content-Length: 10\r\n\r\nabcde`);
      await client.readThrough('abcde');
      return wire;
    },
    afterTarget: isCut,
  },
];

async function setUp(stage: Stage): Promise<Scene & Disposable> {
  const upstream = await UpstreamFixture.start();
  const proxy = await ProxyFixture.start([{ ...site('a.test', upstream), tls: stage.tls === true }]);
  const client = await proxy.connect();
  const target = await stage.reach(client, upstream, proxy);
  await eventually('the connection to be counted', () => proxy.ledger.connections.open() === 1);
  return {
    proxy,
    upstream,
    client,
    target,
    [Symbol.dispose]() {
      proxy[Symbol.dispose]();
      upstream[Symbol.dispose]();
    },
  };
}

/** Nothing is left here or at the upstream after the few seconds for which a response or an idle connection may linger. */
async function nothingLeft({ proxy, upstream, client }: Scene, tls = false): Promise<void> {
  client.socket.destroy();
  const { inFlight, connections, targets } = proxy.ledger;
  const slot = targets.find(targetKey(upstream.address, tls));
  const left = () => inFlight.total() + connections.sockets() + (slot < 0 ? 0 : targets.inFlight(slot));
  let passed = 0;
  await eventually('nothing to be left', () => {
    if (left() > 0 && passed < 5_000) {
      passed += 500;
      proxy.clock.pass(500);
    }
    return left() === 0;
  });
}

/** The worker continues as if nothing had happened. */
async function servesTheNext({ proxy, upstream }: Scene): Promise<void> {
  const client = await proxy.connect();
  client.send(get('/next'));
  const { wire, request } = await upstream.nextRequest();
  assert.equal(request.line, 'GET /next HTTP/1.1');
  wire.send(ok('fine', 'Connection: close\r\n'));
  const answer = await client.readAnswer();
  assert.deepEqual([answer.body, field(answer.head, 'Connection')], ['fine', null]);
  client.socket.destroy();
}

describe('a client that resets its connection', () => {
  for (const stage of STAGES) {
    test(`${stage.what}: its upstream request ends too, and nothing leaks`, async () => {
      using scene = await setUp(stage);
      const { client, target, proxy } = scene;
      client.reset();
      // The client is not read from while its upstream is full, so its reset is noticed when the upstream reads again.
      target?.socket.resume();
      // A connection that is being established is kept for the next request, up to its time limit.
      const kept = stage.tls === true;
      if (target !== null && !kept) await target.until('the end of the request', () => target.ended || target.closed);
      await nothingLeft(scene, stage.tls);
      assert.deepEqual(proxy.targetChanges(), []);
      if (target === null) assert.equal(scene.upstream.connections.length, 0);
      if (stage.tls === undefined && stage.what !== 'while the worker drains') await servesTheNext(scene);
      await nothingLeft(scene, stage.tls);
    });
  }
});

describe('a target that resets its connection', () => {
  for (const stage of STAGES) {
    const { afterTarget } = stage;
    if (afterTarget === undefined) continue;
    test(`${stage.what}: the client is notified, and nothing leaks`, async () => {
      using scene = await setUp(stage);
      const { client, target } = scene;
      target?.reset();
      await afterTarget(client);
      await nothingLeft(scene, stage.tls);
      if (stage.tls === undefined && stage.what !== 'while the worker drains') await servesTheNext(scene);
      await nothingLeft(scene, stage.tls);
    });
  }

  test('while its connection is idle: the next request uses a new one', async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.before(upstream);
    const client = await proxy.connect();
    client.send(get());
    const { wire } = await upstream.nextRequest();
    wire.send(ok('x'));
    await client.readAnswer();
    wire.reset();
    await servesTheNext({ proxy, upstream, client, target: null });
    await nothingLeft({ proxy, upstream, client, target: null });
  });
});

describe('a request that waits for an upstream connection', () => {
  /** At most one upstream connection: the first client's request uses it, and the second's waits. */
  async function queued(upstream: UpstreamFixture) {
    const proxy = await ProxyFixture.with([site('a.test', upstream)], {}, { maxPerTarget: 1 });
    const [first, second] = [await proxy.connect(), await proxy.connect()];
    first.send(get('/first'));
    const { wire } = await upstream.nextRequest();
    second.send(get('/second'));
    await eventually('both requests to be under way', () => proxy.ledger.inFlight.total() === 2);
    return { proxy, first, second, wire };
  }

  test('is dropped when its client resets, and the next one is sent instead', async () => {
    using upstream = await UpstreamFixture.start();
    const { proxy, first, second, wire } = await queued(upstream);
    using _proxy = proxy;
    second.reset();
    await eventually('one request to be under way', () => proxy.ledger.inFlight.total() === 1);
    const third = await proxy.connect();
    third.send(get('/third'));
    wire.send(ok('1'));
    assert.equal((await first.readAnswer()).body, '1');
    assert.equal((await wire.readRequest()).line, 'GET /third HTTP/1.1');
    wire.send(ok('3'));
    assert.equal((await third.readAnswer()).body, '3');
    third.socket.destroy();
    await nothingLeft({ proxy, upstream, client: first, target: wire });
  });

  test('uses a new connection when the upstream resets the one it waited for', async () => {
    using upstream = await UpstreamFixture.start();
    const { proxy, first, second, wire } = await queued(upstream);
    using _proxy = proxy;
    wire.reset();
    await isBadGateway(first);
    const { wire: fresh, request } = await upstream.nextRequest();
    assert.equal(request.line, 'GET /second HTTP/1.1');
    fresh.send(ok('2'));
    assert.equal((await second.readAnswer()).body, '2');
    second.socket.destroy();
    await nothingLeft({ proxy, upstream, client: first, target: fresh });
  });
});

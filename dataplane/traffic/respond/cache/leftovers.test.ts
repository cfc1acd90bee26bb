import assert from 'node:assert/strict';
import { type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import { CacheIndex } from '../../../cache/cache-index.ts';
import { entry as entryFor } from '../../../cache/testing/entry.ts';
import { FRAME, Frames, head, INITIAL_WINDOW } from '../../testing/http2/frames.ts';
import { cachingProxy, indexedProxy } from '../../testing/proxy/caching-proxy.ts';
import { eventually, get, type ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { stillness } from '../../testing/stillness.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import type { Wire } from '../../testing/wire.ts';
import { CacheStore } from './store.ts';
import type { StoredResponse } from './stored.ts';
import { Leftovers, StoredBodies } from './stored-bodies.ts';

/** A tenth of the cache is the most that one may take. */
const BODY = Buffer.alloc(900_000, '0123456789').toString();

/** A client over HTTP/2 that reads no body. */
async function silentClient(proxy: ProxyFixture): Promise<Frames> {
  const client = await Frames.plain(proxy.port);
  client.greet([INITIAL_WINDOW, 0]);
  return client;
}
const counted = (client: Frames, wanted: number): number => client.received.filter(({ type }) => type === wanted).length;
const ask = (client: Frames, nth: number, path: string) => client.request(2 * nth + 1, head([':path', path], [':scheme', 'http']));

test('responses that are stored no more are kept for clients that do not read up to a quarter of the cache, and the others are cut off', async () => {
  using upstream = await UpstreamFixture.serving(() => ok(BODY, 'Cache-Control: max-age=600\r\n'));
  const { proxy, index } = await indexedProxy({ ...site('a.test', upstream), cache: {} });
  using _ = proxy;
  using client = await silentClient(proxy);
  for (let nth = 0; nth < 40; nth++) {
    await proxy.request(get(`/?${nth}`));
    ask(client, nth, `/?${nth}`);
    await eventually('the response', () => counted(client, FRAME.headers) === nth + 1);
  }
  await eventually(
    'all but those in the cache, and two, to be cut off',
    () => counted(client, FRAME.reset) === 40 - index.status.entries - 2,
  );
  const entries = [...Array(40).keys()];
  for (const nth of entries) await index.purgeEverywhere({ kind: 'target', host: 'a.test', target: `/?${nth}` }, true);
  await eventually('those in the cache to be cut off when they are purged one by one', () => counted(client, FRAME.reset) === 40 - 2);
});

test('a purge of many responses cuts off no download, up to the size of the cache', async () => {
  using upstream = await UpstreamFixture.serving(() => ok(BODY, 'Cache-Control: max-age=600\r\n'));
  const { proxy, index } = await indexedProxy({ ...site('a.test', upstream), cache: {} });
  using _ = proxy;
  using client = await silentClient(proxy);
  let asked = 0;
  const askForTen = async () => {
    for (const nth of Array(10).keys()) {
      await proxy.request(get(`/?${nth}`));
      ask(client, asked++, `/?${nth}`);
      await eventually('the response', () => counted(client, FRAME.headers) === asked);
    }
    await index.purgeEverywhere({ kind: 'prefix', host: 'a.test', prefix: '/' }, true);
    await proxy.request(get('/other'));
  };
  await askForTen();
  assert.equal(counted(client, FRAME.reset), 0);
  await askForTen();
  await eventually('those that wait longest to be cut off', () => counted(client, FRAME.reset) === 9);
  await askForTen();
  await eventually('the next ones to be cut off', () => counted(client, FRAME.reset) === 19);
});

test('a client that reads slowly gets the whole response although it is stored no more, and others are not', async () => {
  using upstream = await UpstreamFixture.serving(() => ok(BODY, 'Cache-Control: max-age=600\r\n'));
  const { proxy, index } = await indexedProxy({ ...site('a.test', upstream), cache: {} });
  using _ = proxy;
  await proxy.request(get('/'));
  const slow = await proxy.connect();
  slow.socket.pause();
  slow.send(get('/'));
  using client = await silentClient(proxy);
  for (let nth = 0; nth < 10; nth++) {
    await proxy.request(get(`/?${nth}`));
    ask(client, nth, `/?${nth}`);
    await eventually('the response', () => counted(client, FRAME.headers) === nth + 1);
    if (nth === 0) await index.purgeEverywhere({ kind: 'prefix', host: 'a.test', prefix: '/' }, true);
  }
  slow.socket.resume();
  assert.equal((await slow.readAnswer()).body, BODY);
});

test('what clients have not read of a response that turns out to be too large is limited as well', async () => {
  const wires: Wire[] = [];
  using upstream = await UpstreamFixture.serving((_, wire) => {
    wires.push(wire);
    return null;
  });
  using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} }, { cacheSize: 100_000_000 });
  using silent = await silentClient(proxy);
  const fast: IncomingMessage[] = [];
  const piece = Buffer.alloc(20_000_000, 'x');
  for (let nth = 0; nth < 5; nth++) {
    const path = `/?${nth}`;
    request({ host: '127.0.0.1', port: proxy.port, path, headers: { host: 'a.test' }, agent: false }, (response) => {
      fast.push(response.resume());
    }).end();
    await eventually('the request of one client', () => wires.length === nth + 1);
    ask(silent, nth, path);
    for (const _ of [1, 2]) await silent.answered();
    const wire = wires[nth] as Wire;
    wire.send(`HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n${piece.length.toString(16)}\r\n`);
    wire.send(piece);
    wire.send('\r\n0\r\n\r\n');
    await stillness('the upstream to be paused', () => wire.socket.bytesWritten - wire.socket.writableLength);
  }
  // Each of them takes a tenth of the cache.
  await eventually('the first three to be cut off', () => counted(silent, FRAME.reset) === 3);
  silent[Symbol.dispose]();
  await eventually('the others to have got all of it', () => fast.filter(({ complete }) => complete).length === 5);
});

test('clients that read slowly, but all the time, get the whole of responses that are too large to be stored, however many there are', async () => {
  const piece = Buffer.alloc(12_000_000, 'x').toString();
  const lines = 'Cache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n';
  using upstream = await UpstreamFixture.serving(
    () => `HTTP/1.1 200 OK\r\n${lines}\r\n${piece.length.toString(16)}\r\n${piece}\r\n0\r\n\r\n`,
  );
  using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} });
  const responses: IncomingMessage[] = [];
  for (let nth = 0; nth < 8; nth++)
    request({ host: '127.0.0.1', port: proxy.port, path: `/?${nth}`, headers: { host: 'a.test' }, agent: false }, (response) => {
      responses.push(response.on('error', () => undefined).pause());
    }).end();
  await eventually('the responses', () => responses.length === 8);
  while (responses.some(({ closed }) => !closed)) {
    for (const response of responses) response.read();
    await new Promise(setImmediate);
  }
  assert.deepEqual(
    responses.map(({ complete }) => complete),
    responses.map(() => true),
  );
});

test('the body of a response that a validation has renewed is not left over', () => {
  const leftovers = new Leftovers();
  const bodies = new StoredBodies({ others: leftovers, purged: new Leftovers() });
  leftovers.most = 100;
  const cut: string[] = [];
  const user = (name: string) => ({ cut: () => cut.push(name) });
  const entry = (bodyId: number) => bodies.of({ bodyId, length: 60 });
  const [a, b, c] = [user('a'), user('b'), user('c')];
  for (const [id, one] of [a, b, c].entries()) {
    entry(id).stored();
    entry(id).use(one);
    // It is renewed: it is stored once more before it is removed.
    entry(id).stored();
    entry(id).removed('replaced or evicted');
  }
  assert.deepEqual(cut, []);
  for (const id of [0, 1]) entry(id).removed('replaced or evicted');
  assert.deepEqual(cut, ['a']);
  entry(2).removed('replaced or evicted');
  assert.deepEqual(cut, ['a', 'b']);
  entry(2).leave(c);
  entry(3).use(a);
  entry(3).leave(a);
  entry(4).use(b);
  assert.deepEqual(cut, ['a', 'b']);
});

/** Two workers, and the main thread; `renewedOnce` has the second worker send a response that the first one renews meanwhile. */
function twoWorkers() {
  const stores: CacheStore[] = [];
  const index = new CacheIndex(100_000, {
    reply: (worker, message) => stores[worker]?.handle(message),
    broadcast: (message) => {
      for (const store of stores) store.handle(message);
    },
  });
  for (const worker of [0, 1]) stores.push(new CacheStore(worker + 1, { post: (message) => index.handle(worker, message) }));
  const [one, other] = stores as [CacheStore, CacheStore];
  for (const store of stores) store.resize(100_000);
  const renewedOnce = (path: string, cut: string[]): StoredResponse => {
    const first = one.store(entryFor(path, { length: 10_000 }), 0, null);
    other.lookUp(first.entry.key, () => undefined);
    const found = other.find(first.entry.key, '', () => true);
    assert.ok(found !== null);
    found.body.use({ cut: () => cut.push(path) });
    return one.store(entryFor(path, { length: 10_000, bodyId: first.entry.bodyId }), 0, first);
  };
  return { stores, one, index, renewedOnce };
}

test('the body of a response that another worker has renewed is not left over until it is evicted there', () => {
  const { one, index, renewedOnce } = twoWorkers();
  const cut: string[] = [];
  const paths = ['/a', '/b', '/c', '/d'];
  const renewed = paths.map((path) => renewedOnce(path, cut));
  const [last] = renewed.splice(3) as [StoredResponse];
  one.store(entryFor('/d', { length: 10_000, bodyId: last.entry.bodyId }), 0, last);
  assert.deepEqual(cut, []);
  for (const path of paths.slice(0, 3)) index.purge({ kind: 'target', host: 'a.test', target: path });
  assert.deepEqual(cut, ['/a']);
  index.purge({ kind: 'target', host: 'a.test', target: '/d' });
  assert.deepEqual(cut, ['/a', '/b']);
});

test('turning the cache off cuts off no download', () => {
  const store = new CacheStore(1, { post: () => undefined });
  store.resize(100_000);
  const cut: string[] = [];
  for (const path of ['/a', '/b', '/c', '/d'])
    store.store(entryFor(path, { length: 10_000 }), 0, null).body.use({ cut: () => cut.push(path) });
  store.resize(0);
  assert.deepEqual(cut, []);
});

for (const size of [0, 1_000])
  test(`changing the size of the cache to ${size} cuts off no download, also of a response that another worker has renewed`, () => {
    const { one, stores, index, renewedOnce } = twoWorkers();
    const cut: string[] = [];
    for (const path of ['/a', '/b']) renewedOnce(path, cut);
    for (const path of ['/c', '/d', '/e']) one.store(entryFor(path, { length: 10_000 }), 0, null).body.use({ cut: () => cut.push(path) });
    // In this order: the main thread evicts what is stored once the workers have their settings.
    for (const store of stores) store.resize(size);
    index.resize(size);
    assert.deepEqual([cut, index.status.entries], [[], 0]);
  });

test('a response that is being received while the cache becomes too small for it reaches its clients', async () => {
  using upstream = await UpstreamFixture.start();
  const { proxy, index } = await indexedProxy({ ...site('a.test', upstream), cache: {} });
  using _ = proxy;
  using client = await silentClient(proxy);
  ask(client, 0, '/');
  const { wire } = await upstream.nextRequest();
  wire.send(`HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: ${BODY.length}\r\n\r\n`);
  await eventually('the response', () => counted(client, FRAME.headers) === 1);
  await proxy.configure({ cacheSize: 1_000_000 });
  index.resize(1_000_000);
  const reading = proxy.request(get('/'));
  await eventually('both to be under way', () => proxy.ledger.inFlight.total() === 2);
  wire.send(BODY);
  assert.equal((await reading).body, BODY);
  ask(client, 1, '/next');
  await wire.readRequest();
  wire.send(ok('', 'Cache-Control: max-age=600\r\n'));
  await eventually('the next response', () => counted(client, FRAME.headers) === 2);
  assert.equal(counted(client, FRAME.reset), 0);
});

test('of the bodies that are left over, the ones whose clients have read nothing for the longest time give way', () => {
  const leftovers = new Leftovers();
  leftovers.most = 100;
  const cut: string[] = [];
  const user = (name: string) => ({ cut: () => void cut.push(name) });
  const [a, b, c] = [user('a'), user('b'), user('c')];
  leftovers.note(a, 50);
  leftovers.note(b, 50);
  leftovers.note(a, 40);
  leftovers.note(c, 20);
  assert.deepEqual(cut, ['b']);
});

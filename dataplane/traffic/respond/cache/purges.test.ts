import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexedProxy } from '../../testing/proxy/caching-proxy.ts';
import { eventually, get, type ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field, type Wire } from '../../testing/wire.ts';

const FRESH = 'Cache-Control: max-age=60\r\n';
const post = (path: string): string => `POST ${path} HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n`;

/** An upstream that answers when the test says so, except for POST, and a site with a cache in front of it. */
async function start() {
  const waiting: Wire[] = [];
  const upstream = await UpstreamFixture.serving(({ line }, wire) => {
    if (line.startsWith('POST')) return ok('');
    waiting.push(wire);
    return null;
  });
  const { proxy, index } = await indexedProxy({ ...site('a.test', upstream), cache: {} });
  const purged = async (path: string): Promise<void> => {
    const before = index.purged;
    await proxy.request(post(path));
    await eventually('the purge', () => index.purged > before);
    await new Promise(setImmediate);
  };
  return {
    ...{ proxy, waiting, purged },
    [Symbol.dispose]() {
      proxy[Symbol.dispose]();
      upstream[Symbol.dispose]();
    },
  };
}

async function ask(proxy: ProxyFixture, waits: () => boolean): Promise<Wire> {
  const client = await proxy.connect();
  client.send(get('/page'));
  await eventually('the request', waits);
  return client;
}

test('requests wait for the one that came first although other URLs are purged, and its response is stored', async () => {
  using site = await start();
  const { proxy, waiting, purged } = site;
  const first = await ask(proxy, () => waiting.length === 1);
  await purged('/other');
  const second = await ask(proxy, () => proxy.ledger.inFlight.total() === 2);
  waiting[0]?.send(ok('page', FRESH));
  for (const client of [first, second]) assert.equal((await client.readAnswer()).body, 'page');
  assert.match(field((await proxy.request(get('/page'))).head, 'Cache-Status') ?? '', /; hit/);
  assert.equal(waiting.length, 1);
});

test('no request waits for one that came before a purge of its URL, whose response is not stored', async () => {
  using site = await start();
  const { proxy, waiting, purged } = site;
  const first = await ask(proxy, () => waiting.length === 1);
  await purged('/page');
  const second = await ask(proxy, () => waiting.length === 2);
  waiting[1]?.send(ok('new', FRESH));
  assert.equal((await second.readAnswer()).body, 'new');
  waiting[0]?.send(ok('old', FRESH));
  assert.equal((await first.readAnswer()).body, 'old');
  assert.equal((await proxy.request(get('/page'))).body, 'new');
});

test('that responses to a URL are not stored is remembered until that URL is purged', async () => {
  using site = await start();
  const { proxy, waiting, purged } = site;
  const first = await ask(proxy, () => waiting.length === 1);
  waiting[0]?.send(ok('own', 'Cache-Control: no-store\r\n'));
  await first.readAnswer();
  await purged('/other');
  const own = [await ask(proxy, () => waiting.length === 2), await ask(proxy, () => waiting.length === 3)];
  for (const wire of waiting.slice(1)) wire.send(ok('own', 'Cache-Control: no-store\r\n'));
  for (const client of own) await client.readAnswer();
  await purged('/page');
  await ask(proxy, () => waiting.length === 4);
  await ask(proxy, () => proxy.ledger.inFlight.total() === 2);
  assert.equal(waiting.length, 4, 'the second waits');
});

test('clients whose own responses are not stored do not wait for one another while a stale response for everyone is stored', async () => {
  using site = await start();
  const { proxy, waiting } = site;
  const all = await ask(proxy, () => waiting.length === 1);
  waiting[0]?.send(ok('all', 'Cache-Control: public, max-age=1\r\nETag: "1"\r\n'));
  await all.readAnswer();
  proxy.clock.pass(2_000);
  const askOwn = async (waits: () => boolean): Promise<Wire> => {
    const client = await proxy.connect();
    client.send(get('/page', 'Cookie: a=1\r\n'));
    await eventually('the request', waits);
    return client;
  };
  const first = await askOwn(() => waiting.length === 2);
  const own = ok('own', 'Cache-Control: private\r\n');
  waiting[1]?.send(own);
  assert.equal((await first.readAnswer()).body, 'own');
  const others = [await askOwn(() => waiting.length === 3), await askOwn(() => waiting.length === 4)];
  const anyone = await ask(proxy, () => waiting.length === 5);
  waiting[4]?.send('HTTP/1.1 304 Not Modified\r\n\r\n');
  assert.equal((await anyone.readAnswer()).body, 'all');
  for (const wire of waiting.slice(2, 4)) wire.send(own);
  for (const client of others) assert.equal((await client.readAnswer()).body, 'own');
  assert.match((await proxy.request(get('/page', 'Cookie: a=1\r\n'))).head, /; hit/);
});

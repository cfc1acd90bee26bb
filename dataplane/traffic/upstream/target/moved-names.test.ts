import assert from 'node:assert/strict';
import dns from 'node:dns';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { syncBuiltinESMExports } from 'node:module';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { eventually, get, ProxyFixture, site, whenRead } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

type Found = (error: NodeJS.ErrnoException | null, addresses: readonly { address: string; family: number }[]) => void;

const [OLD, NEW] = ['127.0.0.1', '127.0.0.2'];
const { lookup } = dns;
/** The addresses of the name, none if it does not exist; null while the resolver fails. */
let addresses: readonly string[] | null = [];

before(() => {
  const fail = (then: Found, code: string): void => then(Object.assign(new Error(code), { code }), []);
  const answer = (host: string, options: object, then: Found): void => {
    if (host !== 'app.test') return Reflect.apply(lookup, dns, [host, options, then]);
    process.nextTick(() =>
      addresses === null || addresses.length === 0
        ? fail(then, addresses === null ? 'EAI_AGAIN' : 'ENOTFOUND')
        : then(
            null,
            addresses.map((address) => ({ address, family: 4 })),
          ),
    );
  };
  Object.assign(dns, { lookup: answer });
  syncBuiltinESMExports();
});
after(() => {
  Object.assign(dns, { lookup });
  syncBuiltinESMExports();
});

/** Sends a request every two seconds for as long. @returns which addresses have answered. */
async function asked(proxy: ProxyFixture, seconds: number): Promise<string[]> {
  const bodies: string[] = [];
  for (let second = 0; second < seconds; second += 2) {
    bodies.push((await proxy.request(get())).body);
    proxy.clock.pass(2_000);
    await whenRead();
  }
  return bodies;
}

const portOf = ({ address }: { readonly address: string }): string => address.split(':')[1] ?? '';

test('requests follow the name of their target, although its old address still serves', async () => {
  using old = await UpstreamFixture.serving(ok(OLD));
  using fresh = await UpstreamFixture.serving(ok(NEW), `${NEW}:${portOf(old)}`);
  addresses = [OLD];
  using proxy = await ProxyFixture.start([site('a.test', { address: `app.test:${portOf(old)}` })]);
  assert.deepEqual(new Set(await asked(proxy, 10)), new Set([OLD]));
  addresses = [NEW];
  await asked(proxy, 100);
  assert.deepEqual(new Set(await asked(proxy, 10)), new Set([NEW]));
  assert.equal(old.connections.length, 1);
  assert.ok(fresh.connections.length > 0);
});

test('so they do if the name did not exist for a moment', async () => {
  using old = await UpstreamFixture.serving(ok(OLD));
  using fresh = await UpstreamFixture.serving(ok(NEW), `${NEW}:${portOf(old)}`);
  addresses = [OLD];
  using proxy = await ProxyFixture.start([site('a.test', { address: `app.test:${portOf(old)}` })]);
  await asked(proxy, 10);
  addresses = [];
  await asked(proxy, 40);
  addresses = [NEW];
  await asked(proxy, 130);
  assert.deepEqual(new Set(await asked(proxy, 10)), new Set([NEW]));
  assert.equal(old.connections.length, 1);
  assert.ok(fresh.connections.length > 0);
});

test('a response that takes long is completed at the old address of its target', async () => {
  using old = await UpstreamFixture.start();
  using fresh = await UpstreamFixture.serving(ok(NEW), `${NEW}:${portOf(old)}`);
  addresses = [OLD];
  using proxy = await ProxyFixture.start([site('a.test', { address: `app.test:${portOf(old)}` })]);
  const client = await proxy.connect();
  client.send(get());
  const wire = await old.accept();
  await wire.readHead();
  wire.send('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n');
  addresses = [NEW];
  for (let second = 0; second < 120; second += 2) {
    proxy.clock.pass(2_000);
    await whenRead();
    if (second % 20 === 0) wire.send('.');
  }
  wire.send('!');
  assert.equal((await client.readAnswer()).body, '......!');
  await eventually('its connection to be closed', () => wire.ended);
  assert.equal((await proxy.request(get())).body, NEW);
  assert.equal(fresh.connections.length, 1);
});

test('connections are kept while the resolver fails, and while some addresses are absent for less than a minute', async () => {
  using old = await UpstreamFixture.serving(ok(OLD));
  addresses = [OLD];
  using proxy = await ProxyFixture.start([site('a.test', { address: `app.test:${portOf(old)}` })]);
  await asked(proxy, 32);
  addresses = null;
  await asked(proxy, 200);
  addresses = [NEW];
  await asked(proxy, 20);
  addresses = [OLD];
  assert.deepEqual(new Set(await asked(proxy, 100)), new Set([OLD]));
  assert.equal(old.connections.length, 1);
});

test('requests over HTTP/2 follow the name of their target, too', async () => {
  const serving = (address: string) =>
    createServer().on('stream', (stream: ServerHttp2Stream) => {
      stream.respond({ ':status': 200 });
      stream.end(address);
    });
  const [old, fresh] = [serving(OLD), serving(NEW)];
  await new Promise<void>((resolve) => old.listen(0, OLD, resolve));
  const { port } = old.address() as AddressInfo;
  await new Promise<void>((resolve) => fresh.listen(port, NEW, resolve));
  addresses = [OLD];
  using proxy = await ProxyFixture.start([{ ...site('a.test', { address: `app.test:${port}` }), transport: { protocol: 'h2c' } }]);
  assert.deepEqual(new Set(await asked(proxy, 10)), new Set([OLD]));
  addresses = [NEW];
  await asked(proxy, 100);
  assert.deepEqual(new Set(await asked(proxy, 10)), new Set([NEW]));
  old.close();
  fresh.close();
});

test('all sessions over HTTP/2 follow the name of their target, also as many as a target may have', async () => {
  const waiting: ServerHttp2Stream[] = [];
  const answer = (stream: ServerHttp2Stream, address: string): void => {
    stream.respond({ ':status': 200 });
    stream.end(address);
  };
  const settings = { maxConcurrentStreams: 1 };
  const old = createServer({ settings }).on('stream', (stream: ServerHttp2Stream) => waiting.push(stream));
  const fresh = createServer({ settings }).on('stream', (stream: ServerHttp2Stream) => answer(stream, NEW));
  await new Promise<void>((resolve) => old.listen(0, OLD, resolve));
  const { port } = old.address() as AddressInfo;
  await new Promise<void>((resolve) => fresh.listen(port, NEW, resolve));
  addresses = [OLD];
  using proxy = await ProxyFixture.start([{ ...site('a.test', { address: `app.test:${port}` }), transport: { protocol: 'h2c' } }]);
  const requests = Array.from({ length: 8 }, () => proxy.request(get('/', 'Content-Type: application/grpc\r\n')));
  await eventually('a session for each', () => waiting.length === 8);
  addresses = [NEW];
  for (let second = 0; second < 100; second += 2) {
    proxy.clock.pass(2_000);
    await whenRead();
  }
  assert.equal((await proxy.request(get())).body, NEW);
  for (const stream of waiting) answer(stream, OLD);
  assert.deepEqual(new Set((await Promise.all(requests)).map(({ body }) => body)), new Set([OLD]));
  old.close();
  fresh.close();
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../shared/route.ts';
import type { Cidr } from '../../../shared/values/cidr.ts';
import { freePorts } from '../testing/free-ports.ts';
import { eventually, get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { Wire } from '../testing/wire.ts';

const header = (port: number): string => `PROXY TCP4 203.0.113.9 192.0.2.1 56324 ${port}\r\n`;

/** A site that says on which port a request has arrived. */
const portTeller = (ports: readonly number[]): RouteInput => ({
  domain: 'a.test',
  upstream: null,
  tls: false,
  handles: ports.map((port) => ({ path: null, match: { port: [port] }, respond: { status: 200, body: `port ${port}` } })),
  respond: { status: 200, body: 'another port' },
});

const bodyAt = async (proxy: ProxyFixture, port: number, request = get()): Promise<string> => (await proxy.request(request, port)).body;

test('a worker listens on several ports, and a block can depend on the port that a request arrived at', async () => {
  const [first, second, third] = await freePorts(3);
  using proxy = await ProxyFixture.with([portTeller([first, second])], { httpPort: first, otherHttpPorts: [second, third] });
  assert.deepEqual(proxy.ports, { http: [first, second, third], https: [] });
  assert.equal(await bodyAt(proxy, first), `port ${first}`);
  assert.equal(await bodyAt(proxy, second), `port ${second}`);
  assert.equal(await bodyAt(proxy, third), 'another port');
});

test('what a request says about its port changes nothing', async () => {
  const [first, second] = await freePorts(2);
  using proxy = await ProxyFixture.with([portTeller([second])], {
    httpPort: first,
    otherHttpPorts: [second],
    trustedProxies: ['127.0.0.1' as Cidr],
  });
  for (const fields of [
    `X-Forwarded-Port: ${second}\r\n`,
    `Forwarded: host="a.test:${second}"\r\n`,
    `X-Forwarded-Host: a.test:${second}\r\n`,
  ])
    assert.equal(await bodyAt(proxy, first, get('/', fields)), 'another port', fields);
  assert.equal(await bodyAt(proxy, first, get().replace('a.test', `a.test:${second}`)), 'another port');
  assert.equal(await bodyAt(proxy, first, `GET http://a.test:${second}/ HTTP/1.1\r\nHost: a.test:${second}\r\n\r\n`), 'another port');
  assert.equal(await bodyAt(proxy, second, get().replace('a.test', `a.test:${first}`)), `port ${second}`);
});

test('ports are added and removed while the others and all connections stay', async () => {
  const [first, second, third] = await freePorts(3);
  using proxy = await ProxyFixture.with([portTeller([first, second, third])], { httpPort: first, otherHttpPorts: [second] });
  const kept = await proxy.connect(second);
  kept.send(get());
  await kept.readAnswer();
  await proxy.configure({ httpPort: first, otherHttpPorts: [third] });
  assert.deepEqual(proxy.ports.http, [first, third]);
  await assert.rejects(Wire.to(second), /ECONNREFUSED/);
  assert.equal(await bodyAt(proxy, third), `port ${third}`);
  kept.send(get());
  assert.equal((await kept.readAnswer()).body, `port ${second}`, 'a connection belongs to the port that it arrived at');
  await proxy.configure({ httpPort: third, otherHttpPorts: [first] });
  assert.deepEqual(proxy.ports.http, [third, first]);
  assert.equal(await bodyAt(proxy, first), `port ${first}`);
});

test('if one of several new ports can’t be opened, none of them is, and the old ones stay open', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  const taken = Number(upstream.address.split(':')[1]);
  const [first, second, third] = await freePorts(3);
  using proxy = await ProxyFixture.with([portTeller([])], { httpPort: first, otherHttpPorts: [second] });
  await proxy.configure({ httpPort: first, otherHttpPorts: [third, taken] });
  assert.deepEqual(proxy.ports.http, [first, second]);
  await assert.rejects(Wire.to(third), /ECONNREFUSED/);
  assert.equal(await bodyAt(proxy, second), 'another port');
  const refusals = proxy.messages.flatMap((message) => (message.kind === 'acknowledged' ? [message.refused?.code] : []));
  assert.equal(refusals.at(-1), 'EADDRINUSE');
});

test('draining closes every port', async () => {
  const [first, second] = await freePorts(2);
  using proxy = await ProxyFixture.with([portTeller([])], { httpPort: first, otherHttpPorts: [second] });
  proxy.drain();
  await eventually('the ports to close', () => proxy.ports.http.length === 0);
  for (const port of [first, second]) await assert.rejects(Wire.to(port), /ECONNREFUSED/);
});

test('a PROXY header is expected only on the ports that are said to have one, and its port changes nothing', async () => {
  const [plain, proxied] = await freePorts(2);
  using proxy = await ProxyFixture.with([portTeller([plain, proxied])], {
    httpPort: plain,
    otherHttpPorts: [proxied],
    proxyProtocolPorts: [proxied],
    trustedProxies: ['127.0.0.1' as Cidr],
  });
  assert.equal(await bodyAt(proxy, plain), `port ${plain}`);
  assert.equal(await bodyAt(proxy, proxied, header(plain) + get()), `port ${proxied}`);
  for (const [port, text] of [
    [proxied, get()],
    [plain, header(80) + get()],
  ] as const) {
    const wire = await proxy.connect(port);
    wire.send(text);
    wire.end();
    assert.doesNotMatch(await wire.readAll(), / 200 /);
  }
});

test('a dry run uses the port of its URL if it is open, else the main one', async () => {
  const [first, second] = await freePorts(2);
  using proxy = await ProxyFixture.with([portTeller([first, second])], { httpPort: first, otherHttpPorts: [second] });
  const dry = (url: string) => {
    const { port, block } = proxy.dryRun(url);
    return [port, block?.index];
  };
  assert.deepEqual(dry(`http://a.test:${second}/`), [second, 1]);
  assert.deepEqual(dry('http://a.test/'), [first, 0]);
  assert.deepEqual(dry('http://a.test:1/'), [first, 0]);
});

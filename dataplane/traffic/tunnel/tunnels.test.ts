import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetKey } from '../../ledger/targets.ts';
import { probedIn } from '../testing/probes.ts';
import { eventually, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../testing/test-upstream.ts';
import { field, type Wire } from '../testing/wire.ts';

const upgrade = (more = '', protocol = 'chat/2') =>
  `GET /room?x=1 HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${more}\r\n`;
const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat/2\r\nX-Own: kept\r\n\r\n';

test('an upgrade to any protocol opens a tunnel, and early bytes of either side arrive', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  const early = 'e'.repeat(4_096);
  client.send(upgrade() + early);
  const { wire, request } = await upstream.nextRequest();
  assert.equal(request.line, 'GET /room?x=1 HTTP/1.1');
  assert.equal(field(request.head, 'upgrade'), 'chat/2');
  assert.match(field(request.head, 'connection') ?? '', /upgrade/i);
  assert.equal(field(request.head, 'x-forwarded-for'), '127.0.0.1');
  wire.send(`${SWITCHING}welcome`);
  const head = await client.readHead();
  assert.match(head, /^HTTP\/1\.1 101 /);
  assert.equal(field(head, 'upgrade'), 'chat/2');
  assert.equal(field(head, 'x-own'), 'kept');
  assert.equal(field(head, 'x-content-type-options'), 'nosniff');
  assert.equal(await client.read(7), 'welcome');
  assert.equal(await wire.read(early.length), early);
  client.send('ping');
  assert.equal(await wire.read(4), 'ping');
  wire.send('pong');
  assert.equal(await client.read(4), 'pong');
});

async function opened(upstream: UpstreamFixture, proxy: ProxyFixture) {
  const client = await proxy.connect();
  client.send(upgrade());
  const { wire } = await upstream.nextRequest();
  wire.send(SWITCHING);
  await client.readHead();
  return { client, target: wire };
}

async function echoes({ client, target }: { client: Wire; target: Wire }, text: string): Promise<void> {
  client.send(text);
  assert.equal(await target.read(text.length), text);
  target.send(text);
  assert.equal(await client.read(text.length), text);
}

const inFlight = (proxy: ProxyFixture, address: string) =>
  proxy.ledger.targets.inFlight(proxy.ledger.targets.find(targetKey(address, false)));

test('whether either side of a silent tunnel is still there is found out', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const ends = await opened(upstream, proxy);
  await echoes(ends, 'hello');
  for (const { socket } of [ends.client, ends.target])
    await eventually('a probe', () => (probedIn(socket.remotePort, socket.localPort) ?? Number.POSITIVE_INFINITY) <= 75);
});

test('a response that declines the upgrade is passed on, and its connection is closed', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  for (const [said, body] of [
    ['HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nmemory', 'memory'],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n', 'abc'],
  ] as const) {
    const client = await proxy.connect();
    client.send(upgrade());
    const { wire } = await upstream.nextRequest();
    wire.send(said);
    const answer = await client.readAnswer();
    assert.equal(answer.line, said.slice(0, said.indexOf('\r\n')));
    assert.equal(answer.body, body);
    assert.equal(field(answer.head, 'connection'), 'close');
    assert.equal(field(answer.head, 'x-frame-options'), 'SAMEORIGIN');
    await client.until('the end', () => client.ended || client.closed);
    client.end();
  }
  await eventually('both to be counted', () => proxy.counted().get('a.test')?.requests === 2);
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 1, 0, 1, 0, 0]);
  await eventually('nothing to be in flight', () => proxy.ledger.inFlight.total() === 0 && inFlight(proxy, upstream.address) === 0);
});

test('a declining response is framed and completed like any other, and 204, 304 and HEAD have no body', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  for (const [method, said, expected] of [
    ['GET', '204 No Content\r\nX-A: b', ['204 No Content', 'b', null, null]],
    ['GET', '304 Not Modified\r\nContent-Length: 55\r\nX-A: b', ['304 Not Modified', 'b', '55', null]],
    ['HEAD', '200 OK\r\nContent-Length: 7\r\nX-A: b', ['200 OK', 'b', '7', null]],
    ['HEAD', '200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b', ['200 OK', 'b', null, null]],
    ['GET', '403 N\xf6\r\nContent-Length: 0\r\nConnection: X-B\r\nX-B: gone\r\nX-A: \xe9\r\nX-A: 2', ['403 N\xf6', '\xe9 | 2', '0', null]],
  ] as const) {
    const client = await proxy.connect();
    client.send(upgrade().replace('GET', method));
    const { wire } = await upstream.nextRequest();
    wire.send(`HTTP/1.1 ${said}\r\n\r\n`);
    await client.until('the end', () => client.ended);
    const text = await client.readAll();
    const [line] = text.split('\r\n');
    const found = ['X-A', 'Content-Length', 'X-B'].map((name) => field(text, name));
    assert.deepEqual([line?.slice('HTTP/1.1 '.length), ...found], expected);
    assert.equal(text.indexOf('\r\n\r\n'), text.length - 4, 'no bytes after the head');
    assert.notEqual(field(text, 'date'), null);
    assert.equal(field(text, 'transfer-encoding'), null);
    client.end();
  }
  await eventually('nothing to be in flight', () => proxy.ledger.inFlight.total() === 0 && inFlight(proxy, upstream.address) === 0);
  assert.equal(proxy.counted().get('a.test')?.requests, 5);
});

test('a declining response is sent at the pace of its client', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(upgrade());
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 200 OK\r\nContent-Length: 64000000\r\n\r\n');
  await client.readHead();
  client.socket.pause();
  const piece = Buffer.alloc(1_000_000, 'x');
  assert.ok(await holdsBack(wire, piece), '64 MB are held for a client that reads nothing');
  const sent = wire.socket.bytesWritten;
  client.socket.resume();
  await eventually('the bytes held back', () => client.total >= sent - 1_000);
  wire.reset();
  await client.until('the end', () => client.ended || client.closed);
  await eventually('nothing to be in flight', () => proxy.ledger.inFlight.total() === 0 && inFlight(proxy, upstream.address) === 0);
});

test('a declining response that stalls is cut off after a minute, an event stream never', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  for (const [type, cut] of [
    ['text/html', true],
    ['text/event-stream', false],
  ] as const) {
    const client = await proxy.connect();
    client.send(upgrade());
    const { wire } = await upstream.nextRequest();
    wire.send(`HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`);
    await client.readThrough('abc');
    for (let step = 0; step < 3; step++) proxy.clock.pass(50_000);
    if (cut) await client.until('the end', () => client.ended || client.closed);
    else {
      wire.send('1\r\nd\r\n0\r\n\r\n');
      await client.readThrough('d\r\n0\r\n\r\n');
    }
  }
});

test('a client that disconnects in the middle of a declining response leaks nothing', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(upgrade());
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc');
  await client.readThrough('abc');
  client.reset();
  await wire.until('the end', () => wire.ended || wire.closed);
  await eventually('nothing to be in flight', () => proxy.ledger.inFlight.total() === 0 && inFlight(proxy, upstream.address) === 0);
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 1, 0, 0, 0, 0]);
});

test('a 101 that names no protocol or another one is answered with 502', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  for (const fields of ['', 'Upgrade: chat/2\r\n', 'Connection: Upgrade\r\n', 'Connection: Upgrade\r\nUpgrade: other\r\n']) {
    const client = await proxy.connect();
    client.send(`${upgrade()}early`);
    const { wire } = await upstream.nextRequest();
    wire.send(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\nbytes`);
    const answer = await client.readAnswer();
    assert.match(answer.line, / 502 /, fields);
    await client.until('the end', () => client.ended || client.closed);
    await wire.until('the end', () => wire.ended || wire.closed);
  }
  await eventually('nothing to be in flight', () => proxy.ledger.inFlight.total() === 0 && inFlight(proxy, upstream.address) === 0);
});

test('the target may choose one of several protocols, and interim responses, odd bytes and repeated fields are passed on', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(
    upgrade(
      'X-Both: 1\r\nX-Both: \xe9\r\nUser-Agent: a\r\nuser-agent: b\r\nTrailer: a\r\nTRAILER: b\r\n__proto__: x\r\n',
      'Chat/3, chat/2',
    ),
  );
  const { wire, request } = await upstream.nextRequest();
  assert.equal(field(request.head, 'upgrade'), 'Chat/3, chat/2');
  assert.deepEqual([field(request.head, 'x-both'), field(request.head, 'user-agent')], ['1 | \xe9', 'a | b']);
  wire.send('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
  assert.equal(await client.readHead(), 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
  wire.send(SWITCHING.replace('chat/2', 'CHAT/3').replace('X-Own: kept', 'Content-Length: 4\r\nX-Own: \xe9\r\nX-Own: 2\r\nServer: s'));
  const head = await client.readHead();
  assert.equal(field(head, 'upgrade'), 'CHAT/3');
  assert.deepEqual([field(head, 'x-own'), field(head, 'server'), field(head, 'content-length')], ['\xe9 | 2', 's', null]);
  await echoes({ client, target: wire }, '\xff\x00');
});

test('an upgrade to h2c or TLS, with a body, in HTTP/1.0 or with an unknown method is ignored', async () => {
  using upstream = await UpstreamFixture.serving(ok('plain'));
  using proxy = await ProxyFixture.before(upstream);
  const body = 'POST / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: chat\r\nContent-Length: 2\r\n\r\nhi';
  for (const text of [
    upgrade('', 'h2c'),
    upgrade('', 'TLS/1.3, h2c'),
    body,
    upgrade().replace('HTTP/1.1', 'HTTP/1.0'),
    upgrade().replace('GET', 'FOO'),
  ])
    assert.equal((await proxy.request(text)).body, 'plain');
  for (const { head } of upstream.requests) assert.equal(field(head, 'upgrade'), null);
  using other = await UpstreamFixture.start();
  await proxy.publish([site('a.test', other)]);
  const client = await proxy.connect();
  client.send(upgrade('', 'h2c, chat/2'));
  const { request } = await other.nextRequest();
  assert.equal(field(request.head, 'upgrade'), 'chat/2');
});

test('an unreachable target is answered with 502 without its address, after the others have been tried', async () => {
  const away = { address: await refusingAddress() };
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([site('a.test', away, upstream), site('away.test', away)]);
  const tunnel = await opened(upstream, proxy);
  await echoes(tunnel, 'over the second');
  const answer = await proxy.request(upgrade().replace('a.test', 'away.test'));
  assert.match(answer.line, / 502 /);
  assert.ok(!(answer.head + answer.body).includes(away.address));
  assert.equal(proxy.counted().get('away.test')?.classes[4], 1);
});

test('a target that closes, sends invalid HTTP or is silent for a minute causes 502, 502 and 504', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const ends: readonly [status: number, end: (wire: Wire) => void][] = [
    [502, (wire) => wire.end()],
    [502, (wire) => wire.reset()],
    [502, (wire) => wire.send('SSH-2.0-OpenSSH_9.2\r\n')],
    [504, () => proxy.clock.pass(61_000)],
  ];
  for (const [status, end] of ends) {
    const client = await proxy.connect();
    client.send(upgrade());
    const { wire } = await upstream.nextRequest();
    end(wire);
    const answer = await client.readAnswer();
    assert.match(answer.line, new RegExp(` ${status} `));
    assert.match(answer.body, new RegExp(`${status}`));
    await client.until('the end', () => client.ended || client.closed);
  }
  await eventually('nothing to be in flight', () => proxy.ledger.inFlight.total() === 0 && inFlight(proxy, upstream.address) === 0);
});

test('policies apply first: a request over the rate limit opens no tunnel', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), rate_limit_rps: 1 }]);
  await opened(upstream, proxy);
  assert.match((await proxy.request(upgrade())).line, / 429 /);
  assert.equal(upstream.connections.length, 1);
});

test('an upgrade is counted when it is answered, and its bytes when it ends', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const tunnel = await opened(upstream, proxy);
  const before = proxy.counted().get('a.test');
  assert.deepEqual([before?.requests, before?.classes[0]], [1, 1]);
  assert.equal(inFlight(proxy, upstream.address), 1);
  tunnel.target.send('x'.repeat(100_000));
  await tunnel.client.read(100_000);
  tunnel.client.end();
  await tunnel.target.until('the end', () => tunnel.target.ended);
  tunnel.target.end();
  await eventually('its bytes', () => (proxy.counted().get('a.test')?.bytes ?? 0) > 100_000);
  assert.equal(proxy.counted().get('a.test')?.requests, 1);
  await eventually('nothing to be in flight', () => proxy.ledger.inFlight.total() === 0 && inFlight(proxy, upstream.address) === 0);
});

test('either side can half-close while the other keeps sending', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const one = await opened(upstream, proxy);
  one.client.end();
  await one.target.until('the end', () => one.target.ended);
  one.target.send('still here');
  assert.equal(await one.client.read(10), 'still here');
  const two = await opened(upstream, proxy);
  two.target.end('last words');
  assert.equal(await two.client.readAll(), 'last words');
});

test('a reset on either side closes the other and leaks nothing', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  for (const [from, to] of [
    ['client', 'target'],
    ['target', 'client'],
  ] as const) {
    const tunnel = await opened(upstream, proxy);
    await echoes(tunnel, 'hello');
    tunnel[from].reset();
    await tunnel[to].until('the end', () => tunnel[to].ended || tunnel[to].closed);
    tunnel[to].socket.destroy();
    await eventually('nothing to be in flight', () => proxy.ledger.inFlight.total() === 0 && inFlight(proxy, upstream.address) === 0);
  }
  const early = await proxy.connect();
  early.send(upgrade());
  const { wire } = await upstream.nextRequest();
  early.reset();
  await wire.until('the end', () => wire.ended || wire.closed);
  await eventually('nothing to be in flight', () => proxy.ledger.inFlight.total() === 0 && inFlight(proxy, upstream.address) === 0);
});

test('a tunnel has no idle timeout', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const tunnel = await opened(upstream, proxy);
  proxy.clock.pass(7_200_000);
  await echoes(tunnel, 'two hours later');
});

test('a tunnel survives every change except the removal of its target, after which it has half a minute', async () => {
  using upstream = await UpstreamFixture.start();
  using second = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const tunnel = await opened(upstream, proxy);
  const draining = {
    ...site('a.test'),
    upstreams: [{ address: upstream.address, state: 'draining' as const }, { address: second.address }],
  };
  for (const routes of [
    [site('b.test', second)],
    [site('a.test', second, upstream)],
    [{ ...site('a.test', upstream), rate_limit_rps: 9 }],
  ]) {
    await proxy.publish(routes);
    proxy.clock.pass(60_000);
    await echoes(tunnel, 'unmoved');
  }
  // A target that returns in time keeps its tunnels.
  await proxy.publish([site('a.test', second)]);
  proxy.clock.pass(20_000);
  await proxy.publish([site('a.test', upstream)]);
  proxy.clock.pass(60_000);
  await echoes(tunnel, 'forgiven');
  for (const end of [[draining], [site('a.test', second)]]) {
    await proxy.publish([site('a.test', upstream)]);
    const doomed = await opened(upstream, proxy);
    await proxy.publish(end);
    proxy.clock.pass(29_000);
    await echoes(doomed, 'last words');
    proxy.clock.pass(2_000);
    await doomed.client.until('the end', () => doomed.client.ended || doomed.client.closed);
    await doomed.target.until('the end', () => doomed.target.ended || doomed.target.closed);
  }
});

test('a target that leaves the route before it has answered has the usual time limit', async () => {
  using upstream = await UpstreamFixture.start();
  using second = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(upgrade());
  const { wire } = await upstream.nextRequest();
  await proxy.publish([site('a.test', second)]);
  wire.send(SWITCHING);
  await client.readHead();
  await echoes({ client, target: wire }, 'hello');
  proxy.clock.pass(31_000);
  await client.until('the end', () => client.ended || client.closed);
});

test('a side that does not read pauses the other', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const tunnel = await opened(upstream, proxy);
  tunnel.client.socket.pause();
  assert.ok(await holdsBack(tunnel.target, Buffer.alloc(1_000_000)), '64 MB are held for a client that reads nothing');
  const other = await opened(upstream, proxy);
  other.target.socket.pause();
  assert.ok(await holdsBack(other.client, Buffer.alloc(1_000_000)), '64 MB are held for a target that reads nothing');
});

/** Whether the other side stops reading before 64 pieces have been sent to it. */
async function holdsBack({ socket }: Wire, piece: Buffer): Promise<boolean> {
  for (let sent = 0; sent < 64; sent++) {
    if (socket.write(piece)) continue;
    const stuck = await Promise.race([
      new Promise<boolean>((resolve) => socket.once('drain', () => resolve(false))),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 300)),
    ]);
    if (stuck) return true;
  }
  return false;
}

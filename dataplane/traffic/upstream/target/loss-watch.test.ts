import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { FAILURE } from '../../exchange/failure.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { LossWatch, SLOW_MS } from './loss-watch.ts';

function watch() {
  const clock = new ManualClock();
  const world = { clock, reports: 0, loss: new LossWatch(clock, () => world.reports++) };
  return world;
}

test('a connection that is not accepted is reported, and one that was closed later is not', () => {
  for (const [failure, reports] of [
    [FAILURE.refused, 1],
    [FAILURE.unreachable, 1],
    [FAILURE.connectTimeout, 1],
    [FAILURE.closed, 0],
    [FAILURE.headTimeout, 0],
    [FAILURE.tls, 0],
    [FAILURE.badStatus, 0],
  ] as const) {
    const world = watch();
    world.loss.failed(failure);
    assert.equal(world.reports, reports, failure.code);
  }
});

test('a target that stays unreachable is reported ten times a second', () => {
  const world = watch();
  for (let ms = 0; ms < 1_000; ms++) {
    world.loss.failed(FAILURE.refused);
    world.clock.pass(1);
  }
  assert.equal(world.reports, 10);
});

const attempt = () => ({ connecting: true, destroyed: false });

async function slow({ clock }: { readonly clock: ManualClock }): Promise<void> {
  clock.pass(SLOW_MS);
  await nextTurn();
}

test('a connection that is not established in a quarter of a second is reported, unless another one is', async () => {
  const world = watch();
  world.loss.connecting(attempt());
  world.clock.pass(SLOW_MS - 1);
  assert.equal(world.reports, 0);
  world.loss.connected();
  await slow(world);
  assert.equal(world.reports, 0);
  world.loss.connecting(attempt());
  await slow(world);
  assert.equal(world.reports, 1);
});

test('neither one that is established, and waits for TLS, nor one that was given up is slow', async () => {
  for (const state of [{ connecting: false }, { destroyed: true }]) {
    const world = watch();
    const socket = attempt();
    world.loss.connecting(socket);
    Object.assign(socket, state);
    await slow(world);
    assert.equal(world.reports, 0);
  }
});

test('one that is established before the sockets are polled, after a turn that took long, is not slow', async () => {
  const world = watch();
  const socket = attempt();
  world.loss.connecting(socket);
  world.clock.pass(SLOW_MS);
  socket.connecting = false;
  await nextTurn();
  assert.equal(world.reports, 0);
});

/** How the app behind a target with TLS treats connections that the system has accepted, and what happens to a request then. */
const HANDSHAKES = [
  ['closes the connection', (socket: Socket) => socket.destroy(), 502],
  ['resets the connection', (socket: Socket) => socket.resetAndDestroy(), 502],
  ['is silent until the connect timeout', () => undefined, 504],
] as const;

for (const [what, treat, status] of HANDSHAKES)
  test(`a target that accepts connections and ${what} during the TLS handshake is not lost, until it refuses one`, async () => {
    const server = createServer();
    const accepted: Socket[] = [];
    server.on('connection', (socket) => {
      accepted.push(socket);
      socket.on('error', () => undefined).once('data', () => treat(socket));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    using proxy = await ProxyFixture.start([{ ...site('a.test'), upstreams: [{ address, id: 'one' }], tls: true }]);
    const losses = () => proxy.messages.filter(({ kind }) => kind === 'lost').length;
    const answer = proxy.request(get());
    await eventually('the handshake to begin', () => accepted.some(({ bytesRead }) => bytesRead > 0));
    for (let ms = 0; ms < 2_000 && status === 504; ms += 50) {
      proxy.clock.pass(50);
      await nextTurn();
    }
    const { line } = await answer;
    const early = losses();
    for (const socket of accepted) socket.destroy();
    server.close();
    await once(server, 'close');
    assert.match(line, new RegExp(` ${status} `));
    assert.equal(early, 0);
    assert.match((await proxy.request(get())).line, / 50[23] /);
    assert.equal(losses(), 1);
  });

for (const [what, fields] of [
  ['a request', ''],
  ['an upgrade', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
] as const)
  test(`a target with TLS whose address the system rejects at once, as that of a network that was removed, is lost: ${what}`, async () => {
    // No connection leads to the address of a group.
    const upstreams = [{ address: '224.0.0.1:443', id: 'one' }];
    using proxy = await ProxyFixture.start([{ ...site('a.test'), upstreams, tls: true }]);
    assert.match((await proxy.request(get('/', fields))).line, / 502 /);
    assert.equal(proxy.messages.filter(({ kind }) => kind === 'lost').length, 1);
  });

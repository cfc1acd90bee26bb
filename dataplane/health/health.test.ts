import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { type RouteInput, readRoute } from '../../shared/route.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import type { LookUp } from '../../shared/upstreams/resolver.ts';
import { CHECK_RESULT, Targets, targetKey } from '../ledger/targets.ts';
import { Health, type HealthChange } from './health.ts';

/** Whether this process has connections, to either side. */
const hasConnections = (): boolean => process.getActiveResourcesInfo().includes('TCPSocketWrap');

/** The main thread's health checks, on a manual clock. */
class Fixture {
  readonly clock = new ManualClock();
  readonly targets = new Targets(Targets.buffer(1), 1);
  readonly changes: HealthChange[] = [];
  /** Those that are being resolved. */
  readonly names: { readonly host: string; readonly then: Parameters<LookUp>[1] }[] = [];
  readonly health = new Health({
    clock: this.clock,
    random: systemRandom,
    log: memoryLog(),
    targets: this.targets,
    changed: (change) => this.changes.push(change),
    lookUp: (host, then) => this.names.push({ host, then }),
  });

  publish(...routes: readonly RouteInput[]): void {
    const upserts = routes.map((input) => {
      const read = readRoute(input);
      assert.ok('route' in read, JSON.stringify(read));
      return { domain: read.route.domain, json: JSON.stringify(read.route), healthChecks: true };
    });
    this.health.update({ whole: false, upserts, removed: [] });
  }

  /** Advances the clock until a condition holds: a little after every turn of the event loop while a check may be under way. */
  async until(what: string, met: () => boolean): Promise<void> {
    const end = performance.now() + 60_000;
    while (!met()) {
      if (performance.now() > end) throw new Error(`waited for ${what}`);
      const isChecking = hasConnections();
      await (isChecking ? wait(4) : nextTurn());
      this.clock.pass(isChecking ? 10 : 50);
    }
  }

  result(address: string, id: string): number {
    return this.targets.checkResult(this.targets.claim(targetKey(address, false, id), this.clock.now()));
  }

  [Symbol.dispose](): void {
    this.health.stop();
  }
}

/** Nothing listens there; the port of a server that has closed may soon be another test's. */
const NO_TARGET = '127.0.0.1:1';

/** A target that handles each connection with the given function. */
async function target(connected: (socket: Socket) => void = () => undefined, port = 0) {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).resume();
    connected(socket);
  });
  return listening(server, sockets, port);
}

/** A target that answers every request with a status. */
async function site(status: () => number) {
  const requests: string[] = [];
  const server = createHttpServer((request, response) => {
    requests.push(`${request.method} ${request.headers.host}${request.url}`);
    response.writeHead(status()).end();
  });
  return { ...(await listening(server, new Set(), 0)), requests };
}

async function listening(server: Server, sockets: ReadonlySet<Socket>, port: number) {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { address, connections: () => sockets.size, close, [Symbol.dispose]: close };
}

const entering = (address: string, id = 'one', more: Partial<RouteInput> = {}): RouteInput => ({
  domain: 'a.test',
  upstream: null,
  tls: false,
  upstreams: [{ address, id, state: 'starting', probe: true }],
  ...more,
});

test('a target enters rotation once a connection to it has stayed open for 100 ms', async () => {
  using app = await target();
  using fixture = new Fixture();
  fixture.publish(entering(app.address));
  const began = fixture.clock.monotonic();
  await fixture.until('the result', () => fixture.result(app.address, 'one') === CHECK_RESULT.healthy);
  assert.ok(fixture.clock.monotonic() - began >= 100);
  assert.deepEqual(fixture.changes, [{ address: app.address, tls: false, id: 'one', healthy: true, reason: '' }]);
  assert.deepEqual(fixture.health.latest(), fixture.changes);
  fixture.clock.pass(60_000);
  assert.equal(app.connections(), 1);
});

test('a connection that is accepted and closed immediately does not count as success', async () => {
  let listens = false;
  using app = await target((socket) => {
    if (!listens) socket.end();
  });
  using fixture = new Fixture();
  fixture.publish(entering(app.address));
  await fixture.until('several attempts', () => app.connections() >= 3);
  assert.equal(fixture.result(app.address, 'one'), CHECK_RESULT.none);
  assert.equal(fixture.health.reason(`${app.address} one`), 'not probed yet: it closed the connection immediately');
  listens = true;
  await fixture.until('the result', () => fixture.result(app.address, 'one') === CHECK_RESULT.healthy);
});

test('a target that refuses connections is retried until it listens, and the reason is reported once', async () => {
  const { address, close } = await target();
  close();
  using fixture = new Fixture();
  fixture.publish(entering(address));
  await fixture.until('a reason', () => fixture.changes.length > 0);
  const refused = { address, tls: false, id: 'one', healthy: false, reason: 'not probed yet: connection refused' };
  assert.deepEqual(fixture.changes, [refused]);
  assert.deepEqual(fixture.health.latest(), [refused]);
  using app = await target(undefined, Number(address.split(':')[1]));
  await fixture.until('the result', () => fixture.result(app.address, 'one') === CHECK_RESULT.healthy);
  assert.deepEqual(
    fixture.changes.map(({ healthy }) => healthy),
    [false, true],
  );
});

test('a result is kept while any route names the target, paused or not, and is forgotten with the last one', async () => {
  using app = await target();
  using fixture = new Fixture();
  const { address } = app;
  fixture.publish(entering(address), { ...entering(address), domain: 'b.test' });
  await fixture.until('the result', () => fixture.result(address, 'one') === CHECK_RESULT.healthy);
  fixture.publish({ ...entering(address), upstreams: [{ address, id: 'one', state: 'paused' }] });
  fixture.health.update({ whole: false, upserts: [], removed: ['b.test'] });
  assert.equal(fixture.result(address, 'one'), CHECK_RESULT.healthy);
  fixture.publish(entering(address));
  assert.equal(fixture.result(address, 'one'), CHECK_RESULT.healthy);
  fixture.publish(entering(address, 'two'));
  assert.equal(fixture.result(address, 'one'), CHECK_RESULT.none);
  await fixture.until('the other one', () => fixture.result(address, 'two') === CHECK_RESULT.healthy);
  assert.equal(app.connections(), 2);
  fixture.health.update({ whole: true, upserts: [], removed: [] });
  assert.equal(fixture.result(address, 'two'), CHECK_RESULT.none);
});

test('waits for the first results, good or bad, up to the given time', async () => {
  using app = await target();
  const refusing = NO_TARGET;
  using silent = await target();
  using fixture = new Fixture();
  fixture.publish({
    ...entering(app.address),
    upstreams: [app.address, refusing].map((address) => ({ address, id: 'x', state: 'starting', probe: true })),
  });
  let answered = false;
  void fixture.health.firstResults(60_000).then(() => {
    answered = true;
  });
  await fixture.until('both', () => answered);
  assert.deepEqual(fixture.changes.map(({ healthy }) => healthy).sort(), [false, true]);
  fixture.publish({ ...checked(silent.address, 'b.test'), health: { path: '/', interval_secs: 60, timeout_secs: 60 } });
  const began = fixture.clock.monotonic();
  let over = false;
  void fixture.health.firstResults(500).then(() => {
    over = true;
  });
  await fixture.until('the time to be over', () => over);
  assert.ok(fixture.clock.monotonic() - began >= 500);
  assert.equal(fixture.changes.length, 2);
});

test('many targets are probed 64 at a time', async () => {
  using app = await target();
  using fixture = new Fixture();
  const upstreams = Array.from({ length: 200 }, (_, n) => ({ address: app.address, id: `c${n}`, state: 'starting' as const, probe: true }));
  fixture.publish({ ...entering(app.address), upstreams });
  const began = performance.now();
  while (app.connections() < 64 && performance.now() - began < 60_000) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(app.connections(), 64);
  await fixture.until('all', () => fixture.changes.length === 200);
  assert.equal(app.connections(), 200);
});

const checked = (address: string, domain = 'a.test'): RouteInput => ({
  domain,
  upstream: address,
  tls: false,
  health: { path: '/up?deep', interval_secs: 1, timeout_secs: 1 },
});

test('two consecutive bad responses take a target out of rotation, and one good response brings it back', async () => {
  let status = 302;
  using app = await site(() => status);
  using fixture = new Fixture();
  fixture.publish(checked(app.address));
  await fixture.until('the first answer', () => fixture.changes.length === 1);
  assert.equal(app.requests[0], 'GET a.test/up?deep');
  status = 500;
  const before = app.requests.length;
  await fixture.until('the result', () => fixture.changes.length === 2);
  assert.ok(app.requests.length - before >= 2, 'one failure is not enough');
  assert.deepEqual(fixture.changes[1], { address: app.address, tls: false, healthy: false, reason: 'GET /up?deep answered 500' });
  status = 200;
  await fixture.until('it to be back', () => fixture.changes.length === 3);
  assert.deepEqual(fixture.changes[2]?.healthy, true);
});

test('a route decides how many checks in a row take a target out and bring it back, and which status is healthy', async () => {
  let status = 204;
  const results: number[] = [];
  using app = await site(() => {
    results.push(status);
    return status;
  });
  using fixture = new Fixture();
  fixture.publish({
    ...checked(app.address),
    health: { path: '/up', interval_secs: 1, timeout_secs: 1, status: '204', passes: 3, fails: 4 },
  });
  await fixture.until('the first answer', () => fixture.changes.length === 1);
  status = 200;
  results.length = 0;
  await fixture.until('the target to be out', () => fixture.changes.length === 2);
  assert.equal(results.length, 4);
  assert.equal(fixture.changes[1]?.reason, 'GET /up answered 200, not 204');
  status = 204;
  results.length = 0;
  await fixture.until('the target to be back', () => fixture.changes.length === 3);
  assert.equal(results.length, 3);
  assert.equal(fixture.changes[2]?.healthy, true);
});

test('a resolver that fails or is silent takes no target out, and a name that is gone does', async () => {
  using app = await site(() => 200);
  using fixture = new Fixture();
  const named = async (error: string | null): Promise<void> => {
    await fixture.until('a name to be looked up', () => fixture.names.length > 0);
    const failure = error === null ? null : Object.assign(new Error(error), { code: error });
    fixture.names.shift()?.then(failure, error === null ? ['127.0.0.1'] : []);
  };
  const checksMore = (count: number): Promise<void> => {
    const before = app.requests.length;
    return fixture.until('further checks', () => app.requests.length >= before + count);
  };
  fixture.publish(checked(app.address.replace('127.0.0.1', 'app.test')));
  await named(null);
  await checksMore(1);
  await named('EAI_AGAIN');
  await checksMore(3);
  await fixture.until('the name to be looked up again', () => fixture.names.length > 0);
  await checksMore(3);
  await named(null);
  await fixture.until('the name to be looked up anew', () => fixture.names.length > 0);
  await checksMore(3);
  assert.deepEqual(
    fixture.changes.map(({ healthy }) => healthy),
    [true],
  );
  for (let nth = 0; nth < 3; nth++) await named('ENOTFOUND');
  await fixture.until('the target to be out', () => fixture.changes.length === 2);
  assert.match(fixture.changes[1]?.reason ?? '', /its name cannot be resolved/);
});

test('the targets of a block can have a check of their own, or none', async () => {
  using app = await site(() => 200);
  using other = await site(() => 200);
  using unchecked = await site(() => 200);
  using fixture = new Fixture();
  const handles = [
    { path: '/x', upstreams: [{ address: other.address }], health: { path: '/other' } },
    { path: '/y', upstreams: [{ address: unchecked.address }], health: null },
  ];
  fixture.publish({ ...checked(app.address), handles });
  await fixture.until('both answers', () => fixture.changes.length === 2);
  assert.deepEqual([app.requests[0], other.requests[0], unchecked.requests], ['GET a.test/up?deep', 'GET a.test/other', []]);
});

test('a new target enters rotation when its check passes, and is checked at short intervals until then', async () => {
  let status = 503;
  using app = await site(() => status);
  using fixture = new Fixture();
  const route = entering(app.address, 'one', { health: { path: '/up', interval_secs: 60, timeout_secs: 1 } });
  fixture.publish(route);
  await fixture.until('several attempts', () => app.requests.length >= 3);
  assert.deepEqual(
    fixture.changes.map(({ reason }) => reason),
    ['not checked yet: GET /up answered 503'],
  );
  status = 204;
  const began = fixture.clock.monotonic();
  await fixture.until('the result', () => fixture.changes.length === 2);
  assert.ok(fixture.clock.monotonic() - began < 5_000, 'long before the interval');
});

test('a page that does not arrive in time counts as a failure', async () => {
  using silent = await target();
  using fixture = new Fixture();
  fixture.publish(checked(silent.address));
  await fixture.until('the result', () => fixture.changes.length === 1);
  assert.equal(fixture.changes[0]?.reason, 'GET /up?deep got no response within 1 s');
});

test('a target of several routes is checked once for each host', async () => {
  using app = await site(() => 200);
  using fixture = new Fixture();
  const twice = { ...checked(app.address), handles: [{ path: '/x', upstreams: [{ address: app.address }] }] };
  fixture.publish(twice, checked(app.address, 'b.test'));
  await fixture.until('both answers', () => fixture.changes.length === 2);
  assert.deepEqual(app.requests.sort(), ['GET a.test/up?deep', 'GET b.test/up?deep']);
});

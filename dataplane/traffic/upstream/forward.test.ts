import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { Resolver } from '../../../shared/upstreams/resolver.ts';
import { parseAddress } from '../../../shared/values/address.ts';
import { Targets } from '../../ledger/targets.ts';
import { type Downstream, Exchange } from '../exchange/exchange.ts';
import { Faults } from '../exchange/faults.ts';
import { RunQueue } from '../io/run-queue.ts';
import type { TargetChange } from '../protocol.ts';
import { NOT_SERVED } from '../testing/samples/sample-exchange.ts';
import { Forwarder } from './forward.ts';
import { Hold } from './hold.ts';
import { Endpoints } from './pool/endpoints.ts';
import { Pools } from './pool/pool.ts';

/** A client that records what it receives and lets a test wait for the end. */
class KeptAnswer implements Downstream {
  readonly address = '127.0.0.1';
  readonly secure = false;
  readonly unsent = 0;
  status = 0;
  fields = '';
  text = '';
  aborted = false;
  /** Why there was no other response; empty if there was one. */
  failure = '';
  private settle: () => void = () => undefined;
  readonly over = new Promise<void>((resolve) => {
    this.settle = resolve;
  });

  facts(): never {
    throw new Error('nothing is logged');
  }
  head(_: Exchange, status: number, __: string, fields: string): void {
    this.status = status;
    this.fields = fields;
  }
  informational(): void {
    throw new Error('no interim response is expected');
  }
  body(buffer: Buffer, from: number, to: number): boolean {
    this.text += buffer.toString('latin1', from, to);
    return true;
  }
  detach(): null {
    return null;
  }
  reattach(): void {
    throw new Error('nothing is detached');
  }
  end(x: Exchange): void {
    this.failure = x.lastFailure?.code ?? '';
    this.settle();
  }
  abort(): void {
    this.aborted = true;
    this.settle();
  }
  onFault(error: unknown): void {
    throw error;
  }
  flush(): void {
    // All pieces arrive at once.
  }
  bufferBody(x: Exchange, then: (x: Exchange) => void): void {
    then(x);
  }
  streamBody(): void {
    throw new Error('these requests have no body');
  }
  resumeBody(): void {
    // Nothing is paused.
  }
}

/** `beside`: the hold of another pool, which it shares. */
type PoolLimits = { readonly maxConnections?: number; readonly maxHeld?: number; readonly beside?: Hold };

/** A pool over real sockets with a clock that the test advances. Its target is not in rotation if it is `starting`. */
async function poolOf(onConnection: (socket: Socket) => void, limits: PoolLimits = {}, state: 'healthy' | 'starting' = 'healthy') {
  const server = createServer(onConnection);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const clock = new ManualClock();
  const log = memoryLog();
  const targets = new Targets(Targets.buffer(1), 1);
  const changes: TargetChange[] = [];
  const faults = new Faults({ clock, log });
  const hold = limits.beside ?? new Hold({ clock, faults, maxHeld: limits.maxHeld ?? 4_096 });
  const endpoints = new Endpoints({
    clock,
    log,
    faults,
    targets,
    slot: 0,
    sockets: { enterUpstream: () => true, leaveUpstream: () => undefined, isScarce: false },
    resolver: new Resolver(clock),
    runQueue: new RunQueue(),
    connected: (endpoint) => hold.connected(endpoint),
    upgrade: () => assert.fail('no upgrade is requested'),
    blamed: () => undefined,
    targetChanged: (change) => changes.push(change),
    lost: () => undefined,
    ...limits,
  });
  const address = parseAddress(`127.0.0.1:${port}`);
  assert.ok(address.ok);
  const pool = new Pools(endpoints, { random: systemRandom, cookieKey: Buffer.alloc(32) }).open('a.test', {
    upstreams: [{ address: address.value, weight: 1, state }],
    tls: false,
  });
  const forwarder = new Forwarder(pool, limits.maxHeld === undefined ? 0 : 10_000, { clock, faults, hold });
  return {
    clock,
    log,
    changes,
    hold,
    /** Connections are refused from now on. */
    refuse: (): void => void server.close(),
    send: (): KeptAnswer => {
      const client = new KeptAnswer();
      const x = new Exchange(client, NOT_SERVED, {
        method: 'GET',
        target: '/',
        host: 'a.test',
        hostField: 'a.test',
        fields: 'Host: a.test\r\n',
        bodyLength: 0,
        expectsContinue: false,
        port: 80,
        secure: false,
        strictTransport: false,
        misdirected: false,
        clientRule: null,
        referer: null,
        userAgent: null,
        fetchDestination: null,
        privacyControl: false,
        prefetch: false,
        bindsConnection: false,
        upgrade: null,
        hops: 0,
        forwarding: '',
        startedAt: clock.monotonic(),
        trace: null,
      });
      x.bodyComplete = true;
      forwarder.respond(x);
      return client;
    },
    /** Advances the clock and enforces the time limits as a worker does. */
    pass: (ms: number): void => {
      clock.pass(ms);
      endpoints.sweep(clock.monotonic());
    },
    [Symbol.dispose]: () => {
      server.close();
      clock.pass(3_600_000);
      endpoints.sweep(clock.monotonic());
    },
  };
}

test('a target that does not begin its response within 60 s causes a 504 and no retry', async () => {
  let asked = 0;
  let heard: () => void = () => undefined;
  const request = new Promise<void>((resolve) => {
    heard = resolve;
  });
  using pool = await poolOf((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => {
      asked++;
      heard();
    });
  });
  const answer = pool.send();
  await request;
  pool.pass(59_000);
  assert.equal(answer.status, 0);
  pool.pass(1_500);
  await answer.over;
  assert.equal(answer.status, 504);
  assert.equal(asked, 1);
  assert.equal(answer.failure, 'head_timeout');
});

test('a response that stalls for 60 s is visibly truncated', async () => {
  using pool = await poolOf((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart'));
  });
  const answer = pool.send();
  while (answer.text !== 'part') await new Promise((resolve) => setImmediate(resolve));
  pool.pass(61_000);
  await answer.over;
  assert.deepEqual([answer.status, answer.text, answer.aborted], [200, 'part', true]);
});

test('an idle connection is reused for 4 s, or until a second before the target would close it', async () => {
  for (const [promise, keptMs] of [
    ['', 3_500],
    ['Keep-Alive: timeout=3\r\n', 1_500],
  ] as const) {
    let connections = 0;
    using pool = await poolOf((socket) => {
      connections++;
      socket.on('error', () => undefined);
      socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\n${promise}Content-Length: 2\r\n\r\nok`));
    });
    await pool.send().over;
    pool.pass(keptMs);
    await pool.send().over;
    assert.equal(connections, 1);
    pool.pass(4_100);
    await pool.send().over;
    assert.equal(connections, 2, promise);
  }
});

test('a target leaves the rotation after three failures and returns when it answers, and both are reported', async () => {
  let healthy = false;
  using pool = await poolOf((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () =>
      healthy ? socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok') : socket.destroy(),
    );
  });
  for (let visit = 0; visit < 4; visit++) {
    const answer = pool.send();
    await answer.over;
    assert.equal(answer.status, 502);
  }
  assert.deepEqual(
    pool.changes.map((change) => change.healthy),
    [false],
  );
  healthy = true;
  const answer = pool.send();
  await answer.over;
  assert.equal(answer.text, 'ok');
  assert.deepEqual(
    pool.changes.map((change) => change.healthy),
    [false, true],
  );
});

const answering = (socket: Socket, after: () => boolean): void => {
  socket.on('error', () => undefined);
  socket.on('data', () => after() && socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
};

test('a waiting request takes the connection that becomes available', async () => {
  let first: Socket | null = null;
  using pool = await poolOf(
    (socket) =>
      answering(socket, () => {
        const later = first !== null;
        first ??= socket;
        return later;
      }),
    { maxConnections: 1 },
  );
  const answers = [pool.send(), pool.send(), pool.send()];
  while (first === null) await new Promise((resolve) => setImmediate(resolve));
  pool.pass(4_000);
  (first as Socket).write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  for (const answer of answers) await answer.over;
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  );
});

test('a request that has waited 5 s for a connection is answered with 503, never sent, and does not blame the target', async () => {
  let asked = 0;
  using pool = await poolOf((socket) => answering(socket, () => ++asked < 0), { maxConnections: 1 });
  const first = pool.send();
  while (asked === 0) await new Promise((resolve) => setImmediate(resolve));
  const late = pool.send();
  pool.pass(4_900);
  assert.equal(late.status, 0);
  pool.pass(200);
  await late.over;
  assert.deepEqual([late.status, first.status, asked], [503, 0, 1]);
  assert.match(late.fields, /Retry-After: 1/);
  assert.equal(late.failure, 'queue_timeout');
  assert.deepEqual(pool.changes, []);
});

test('the number of requests that wait for a target is limited, and the next one is answered with 503 at once', async () => {
  using pool = await poolOf(() => assert.fail('no connection is opened'), { maxHeld: 2 });
  pool.refuse();
  const answers = [pool.send(), pool.send(), pool.send()];
  await Promise.any(answers.map(({ over }) => over));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [0, 0, 503]);
  assert.deepEqual(
    answers.map(({ failure }) => failure).filter((code) => code !== ''),
    ['hold_full'],
  );
});

test('if too many requests wait for a target, those of the pool with most give way to others, the oldest first', async () => {
  const none = (): void => assert.fail('no connection is opened');
  using one = await poolOf(none, { maxHeld: 4 }, 'starting');
  using other = await poolOf(none, { maxHeld: 4, beside: one.hold }, 'starting');
  const crowd = Array.from({ length: 4 }, () => one.send());
  const few = Array.from({ length: 3 }, () => other.send());
  assert.deepEqual(
    [crowd, few].map((answers) => answers.map(({ status }) => status)),
    [
      [503, 503, 0, 0],
      [0, 0, 503],
    ],
  );
  assert.equal(one.send().failure, 'hold_full');
  assert.equal(crowd[0]?.failure, 'hold_full');
});

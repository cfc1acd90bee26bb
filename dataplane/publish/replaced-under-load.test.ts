import assert from 'node:assert/strict';
import { Agent, createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { insideOneWorker, WorkersFixture } from './testing/test-workers.ts';

const KEPT = 24;
const NEW = 6;
const HELD = 12;
/** All request ids of a worker start with the same digits. */
const WORKER_DIGITS = 16;

type Answer = { readonly status: number; readonly worker: string; readonly socket: Socket };
/** A connection that was lost before a response was complete, or before it began. */
type Loss = { readonly code: string | undefined; readonly reused: boolean };

/**
 * A target that responds with the worker that sent the request: immediately, or half of it first and the rest when the test releases it.
 */
class Target {
  readonly held: { readonly path: string; readonly worker: string; readonly response: ServerResponse }[] = [];
  private readonly server = createServer((request, response) => {
    const worker = String(request.headers['x-request-id']).slice(0, WORKER_DIGITS);
    const { url: path = '' } = request;
    if (path === '/') return void response.end(worker);
    response.writeHead(200, { 'content-length': `${WORKER_DIGITS}` });
    response.write(worker.slice(0, 8));
    this.held.push({ path, worker, response });
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  release(): void {
    for (const { worker, response } of this.held) response.end(worker.slice(8));
  }

  [Symbol.dispose](): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** Sends one request. @throws if the connection is lost before the response is complete. */
const request = (port: number, agent: Agent | false, path = '/'): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const call = get({ host: '127.0.0.1', port, path, headers: { host: 'a.test' }, agent }, (response) => {
      const { socket } = response;
      let worker = '';
      response.setEncoding('latin1').on('data', (piece: string) => {
        worker += piece;
      });
      response.on('error', ({ code }: NodeJS.ErrnoException) => reject({ code, reused: call.reusedSocket } satisfies Loss));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, worker, socket }));
    });
    call.on('error', ({ code }: NodeJS.ErrnoException) => reject({ code, reused: call.reusedSocket } satisfies Loss));
  });

/** A visitor that reuses one connection until it is lost. */
class Kept {
  readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly answers: Answer[] = [];
  lost: Loss | null = null;
  stopped = false;

  async visit(port: number): Promise<void> {
    while (!this.stopped && this.lost === null)
      await request(port, this.agent).then(
        (answer) => this.answers.push(answer),
        (loss: Loss) => {
          this.lost = loss;
        },
      );
    this.agent.destroy();
  }
}

/** Visitors with a kept connection, visitors with a new connection per request, and requests with half-sent responses. */
class Load {
  readonly kept = Array.from({ length: KEPT }, () => new Kept());
  readonly lostNew: Loss[][] = Array.from({ length: NEW }, () => []);
  /** The number of finished requests of each visitor with a new connection per request. */
  private readonly finished = new Array<number>(NEW).fill(0);
  servedNew = 0;
  readonly statuses = new Set<number>();
  held: Promise<PromiseSettledResult<Answer>[]> = Promise.resolve([]);
  private running: Promise<unknown> = Promise.resolve();
  private stopped = false;
  readonly target = new Target();
  readonly workers: WorkersFixture;

  private constructor(workers: WorkersFixture) {
    this.workers = workers;
  }

  static async on(count: number): Promise<Load> {
    const load = new Load(await WorkersFixture.start(count, []));
    const { workers, target } = load;
    await workers.add({ domain: 'a.test', upstream: await target.start(), tls: false });
    const visitors = load.kept.map((visitor) => visitor.visit(workers.port));
    const newVisitors = load.lostNew.map((lost, at) => load.visitWithNewConnections(at, lost));
    load.running = Promise.all([...visitors, ...newVisitors]);
    load.held = Promise.allSettled(Array.from({ length: HELD }, (_, nth) => request(workers.port, false, `/${nth}`)));
    await until('the load to run', () => load.kept.every(({ answers }) => answers.length > 20) && target.held.length === HELD);
    assert.equal(new Set(load.kept.map(({ answers }) => answers[0]?.worker)).size, count, 'each worker has visitors');
    return load;
  }

  private async visitWithNewConnections(at: number, lost: Loss[]): Promise<void> {
    while (!this.stopped) {
      await request(this.workers.port, false).then(
        ({ status }) => {
          this.statuses.add(status);
          this.servedNew++;
        },
        (loss: Loss) => void lost.push(loss),
      );
      this.finished[at] = (this.finished[at] ?? 0) + 1;
    }
  }

  /** Waits until all remaining visitors have had many responses, and checks that no new connection was lost meanwhile. */
  async continues(): Promise<void> {
    // Earlier losses may be noticed a little later.
    const [answered, came] = [this.kept.map(({ answers }) => answers.length), [...this.finished]];
    await until(
      'every visitor to finish two more requests',
      () =>
        this.kept.every(({ answers, lost }, at) => lost !== null || answers.length >= (answered[at] ?? 0) + 2) &&
        this.finished.every((times, at) => times >= (came[at] ?? 0) + 2),
    );
    const left = this.kept.filter(({ lost }) => lost === null);
    const before = left.map(({ answers }) => answers.length);
    const served = this.servedNew;
    const lost = this.lostNew.flat().length;
    await until(
      'many more responses',
      () => left.every(({ answers }, at) => answers.length > (before[at] ?? 0) + 50) && this.servedNew > served + 200,
    );
    for (const visitor of left) assert.equal(visitor.lost, null);
    assert.equal(
      this.lostNew.flat().length,
      lost,
      `new connections succeed: ${this.workers.changes} ${JSON.stringify(this.workers.log.lines)}`,
    );
  }

  async stop(): Promise<void> {
    this.stopped = true;
    for (const visitor of this.kept) visitor.stopped = true;
    await this.running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.workers[Symbol.asyncDispose]();
    this.target[Symbol.dispose]();
  }
}

const HANG = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)';

const isBroken = ({ code }: Loss): boolean => code === 'ECONNRESET' || code === 'EPIPE';

describe('under load a worker loses only its own connections if it', () => {
  for (const [what, code, changes] of [
    ['dies', 'process.exit(1)', ['died', 'started']],
    ['is silent', HANG, ['started', 'replaced']],
  ] as const) {
    test(what, async () => {
      await using load = await Load.on(2);
      const { workers, kept, target } = load;
      await insideOneWorker(code);
      await until('another worker', () => workers.workers.restarts === 1 && workers.workers.serving === 2);
      assert.deepEqual(workers.changes, ['started', 'started', ...changes]);
      await load.continues();

      const lost = kept.filter((visitor) => visitor.lost !== null);
      const gone = new Set(lost.map(({ answers }) => answers[0]?.worker));
      assert.equal(gone.size, 1, 'one worker’s visitors');
      for (const visitor of kept) {
        const [first] = visitor.answers;
        assert.equal(visitor.lost !== null, gone.has(first?.worker), 'exactly its visitors lost their connection');
        assert.ok(
          visitor.answers.every(({ status, worker, socket }) => status === 200 && worker === first?.worker && socket === first?.socket),
        );
        assert.ok(visitor.lost === null || isBroken(visitor.lost), JSON.stringify(visitor.lost));
      }
      // Connections it had accepted but not answered, at most one per visitor.
      for (const broken of load.lostNew) assert.ok(broken.length <= 1 && broken.every(isBroken), JSON.stringify(broken));
      assert.deepEqual([...load.statuses], [200]);

      target.release();
      const held = await load.held;
      for (const [nth, one] of held.entries()) {
        const asked = target.held.filter(({ path }) => path === `/${nth}`).map(({ worker }) => worker);
        assert.equal(asked.length, 1, `requested by ${asked}`);
        if (gone.has(asked[0]))
          assert.ok(one.status === 'rejected' && isBroken(one.reason), 'its responses are cut off and recognizably incomplete');
        else
          assert.equal(one.status === 'fulfilled' ? one.value.worker : one.reason, asked[0], 'the responses of other workers are complete');
      }
      await load.stop();
      await until('all counters to be zero', () => workers.ledger.inFlight.total() === 0 && workers.ledger.connections.open() === 0);
    });
  }
});

test('connections that wait for a worker that hangs are served by its successor', async () => {
  await using workers = await WorkersFixture.start(2, [
    { domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body: 'in' } },
  ]);
  const beats = [0, 1].map((slot) => ({ slot, beat: -1, seen: 0 }));
  await insideOneWorker(HANG);
  await until('a worker to hang', () => {
    for (const known of beats) {
      const beat = workers.ledger.heartbeats.read(known.slot);
      if (beat !== known.beat) Object.assign(known, { beat, seen: performance.now() });
    }
    return beats.some(({ seen }) => performance.now() - seen > 1_000);
  });
  const answers = await Promise.all(Array.from({ length: 50 }, () => workers.visit('a.test')));
  assert.deepEqual(new Set(answers.map(({ text }) => text)), new Set(['in']));
  await until('the worker to be replaced', () => workers.changes.includes('replaced'));
  assert.equal(workers.workers.serving, 2);
});

test('under load a gracefully replaced worker loses no request: on new connections, on kept ones, and in flight', async () => {
  await using load = await Load.on(2);
  const { workers, kept, target } = load;
  const before = new Set(kept.map(({ answers }) => answers[0]?.worker));
  for (const { worker } of await workers.workers.heaps()) await workers.workers.replace(worker, 20_000);
  await until('all visitors to have moved', () => kept.every(({ answers, lost }) => lost !== null || !before.has(answers.at(-1)?.worker)));
  await load.continues();
  for (const { lost } of kept) assert.equal(lost, null);
  assert.deepEqual(load.lostNew.flat(), []);
  assert.deepEqual([...load.statuses], [200]);
  target.release();
  for (const one of await load.held) assert.equal(one.status === 'fulfilled' && one.value.worker.length, WORKER_DIGITS);
  await until('the old workers to be gone', () => workers.changes.filter((change) => change === 'retired').length === 2);
  assert.equal(workers.workers.restarts, 0, JSON.stringify(workers.log.lines));
});

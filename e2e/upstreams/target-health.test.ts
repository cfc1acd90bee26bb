import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder, frame, NDJSON, TOKEN } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';

type TargetEvent = { address: string; id?: string; healthy: boolean; reason: string };

/** A controller's open stream: sends frames and receives lines. */
class Stream {
  readonly told: TargetEvent[] = [];
  private readonly request: ClientRequest;
  private readonly source: string;
  private readonly applied = new Set<number>();
  private revision = 0;

  constructor(dataplane: Dataplane, source: string) {
    this.source = source;
    const headers = { ...NDJSON, authorization: `Bearer ${TOKEN}` };
    this.request = request({ port: dataplane.adminPort, path: '/routes', method: 'POST', headers });
    this.request.on('error', () => undefined);
    void this.read();
  }

  /** Sends a full frame. Resolves when every worker serves it. */
  async apply(...routes: readonly object[]): Promise<void> {
    const revision = ++this.revision;
    this.request.write(frame(revision, routes, { controller: this.source, source: this.source }));
    await until('the frame to be applied', () => this.applied.has(revision));
  }

  close(): void {
    this.request.destroy();
  }

  private async read(): Promise<void> {
    const [response] = await once(this.request, 'response');
    const lines = createInterface({ input: response });
    // The test ends it.
    lines.on('error', () => undefined);
    lines.on('line', (line) => {
      if (line === '') return;
      const message = JSON.parse(line) as { applied?: { revision: number }; upstream?: TargetEvent };
      if (message.applied !== undefined) this.applied.add(message.applied.revision);
      if (message.upstream !== undefined) this.told.push(message.upstream);
    });
  }
}

describe('the data plane detects', () => {
  const folder = new Folder();
  let dataplane: Dataplane;
  const streams: Stream[] = [];

  before(async () => {
    dataplane = await Dataplane.start({ stateDir: folder.file('state') });
  });
  after(async () => {
    for (const stream of streams) stream.close();
    await dataplane[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const connect = (source: string): Stream => {
    const stream = new Stream(dataplane, source);
    streams.push(stream);
    return stream;
  };
  const json = async <T>(path: string): Promise<T> => JSON.parse((await dataplane.admin('GET', path)).text) as T;
  const entering = (address: string, id: string) => ({ address, id, state: 'starting', probe: true });
  const route = (domain: string, upstreams: readonly { address: string }[], more: object = {}) => ({
    domain,
    upstream: upstreams[0]?.address ?? null,
    upstreams,
    ...more,
  });

  test('when a target accepts connections, reports it to the controller, and until then states why not', async () => {
    const stream = connect('probing');
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    await stream.apply(route('probed.test', [entering(address, 'c1')]));
    assert.equal((await dataplane.visit('probed.test')).status, 503);
    await until('the reason', () => stream.told.length > 0);
    const reason = 'not probed yet: connection refused';
    assert.deepEqual(stream.told, [{ address, id: 'c1', healthy: false, reason }]);
    const { verdict, targets } = await json<{ verdict: string; targets: { id: string; reason: string }[] }>('/explain?url=probed.test');
    assert.equal(verdict, `503: no target of the pool is in rotation; ${address}: ${reason}`);
    assert.deepEqual([targets[0]?.id, targets[0]?.reason], ['c1', reason]);

    await using app = await Upstream.start('app', undefined, port);
    await until('the good news', () => stream.told.length > 1);
    assert.deepEqual(stream.told[1], { address, id: 'c1', healthy: true, reason: '' });
    for (let visit = 0; visit < 4; visit++) assert.equal((await dataplane.visit('probed.test')).status, 200);
    const status = (await json<{ address: string; healthy: boolean }[]>('/upstreams')).find((one) => one.address === app.address);
    assert.equal(status?.healthy, true);

    // A controller that connects later receives the current state.
    stream.close();
    const second = connect('probing-2');
    await second.apply();
    await until('the current state', () => second.told.some(({ id, healthy }) => id === 'c1' && healthy));
  });

  test('when a page fails and recovers, and reports it in the metrics', async () => {
    let status = 200;
    await using app = await Upstream.start('app', (request, response) => {
      response.statusCode = request.url === '/healthz' ? status : 200;
      response.end('served');
    });
    const stream = connect('checking');
    const health = { path: '/healthz', interval_secs: 1, timeout_secs: 1 };
    await stream.apply(route('checked.test', [{ ...entering(app.address, 'c2') }], { health }));
    const last = () => stream.told.filter(({ id }) => id === 'c2').at(-1);
    await until('the first answer', () => last()?.healthy === true);
    assert.equal((await dataplane.visit('checked.test')).text, 'served');
    status = 500;
    await until('it to be out', () => last()?.healthy === false);
    assert.equal(last()?.reason, 'GET /healthz answered 500');
    assert.equal((await dataplane.visit('checked.test')).status, 503);
    const metrics = (await dataplane.admin('GET', '/metrics')).text;
    assert.ok(metrics.includes(`sluice_upstream_healthy{address="${app.address}"} 0\n`));
    status = 204;
    await until('it to be back', () => last()?.healthy === true);
    assert.equal((await dataplane.visit('checked.test')).text, 'served');
  });

  test('a recreated target without losing waiting requests, not even those its predecessor had', async () => {
    let stuck = 0;
    await using old = await Upstream.start('old', () => {
      stuck++;
    });
    await using young = await Upstream.start('young', (_, response) => response.end('young'));
    const stream = connect('recreating');
    const holding = { hold_secs: 30 };
    await stream.apply(route('held.test', [entering(old.address, 'c3')], holding));
    await until('the old one', () => stream.told.some(({ id, healthy }) => id === 'c3' && healthy));
    const waiting = Array.from({ length: 6 }, () => dataplane.visit('held.test'));
    await until('the old one to have them', () => stuck === 6);
    await stream.apply(route('held.test', [], holding));
    waiting.push(...Array.from({ length: 6 }, () => dataplane.visit('held.test', '/', { method: 'POST', body: 'kept' })));
    await stream.apply(route('held.test', [entering(young.address, 'c4')], holding));
    for (const { status, text } of await Promise.all(waiting)) assert.deepEqual([status, text], [200, 'young']);
  });
});

/** @throws anything but ECONNRESET. */
function connectionReset(error: NodeJS.ErrnoException): null {
  if (error.code !== 'ECONNRESET') throw error;
  return null;
}

test('a process that takes over uses probed targets from the start', async () => {
  using folder = new Folder();
  await using app = await Upstream.start('app', (_, response) => response.end('served'));
  await using old = await Dataplane.start({ stateDir: folder.path, workers: 1 });
  const stream = new Stream(old, 'containers');
  const upstreams = Array.from({ length: 40 }, (_, n) => ({ address: app.address, id: `c${n}`, state: 'starting', probe: true }));
  await stream.apply({ domain: 'a.test', upstream: app.address, upstreams });
  await until('all of them to be in', () => stream.told.filter(({ healthy }) => healthy).length === 40);
  const successor = Dataplane.start({
    stateDir: folder.path,
    workers: 1,
    flags: ['--takeover'],
    httpPort: old.httpPort,
  });
  const statuses = new Map<number, number>();
  let over = false;
  const visits = (async () => {
    while (!over) {
      // Resets of connections queued for a closed listener are not about health; `upgrade-loses-nothing` covers those.
      const status = await old.visit('a.test', '/', { headers: { connection: 'close' } }).then(({ status }) => status, connectionReset);
      if (status !== null) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  })();
  await using young = await successor;
  await old.program.exited;
  for (let visit = 0; visit < 20; visit++) assert.equal((await young.visit('a.test')).text, 'served');
  over = true;
  await visits;
  stream.close();
  assert.deepEqual([...statuses.keys()], [200]);
});

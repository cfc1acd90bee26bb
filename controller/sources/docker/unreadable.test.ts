import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { clockWithShortWaits } from '../../../shared/runtime/testing/shortened-clock.ts';
import type { Snapshot } from '../source.ts';
import { ANSWER_MS, STREAM_BEGINS_MS } from './engine/engine.ts';
import { translate as toRoutes } from './routes/translate.ts';
import { gist, started, withEngine } from './testing/docker-source.ts';
import { fakeId } from './testing/fake-container.ts';
import type { FakeEngine } from './testing/fake-engine.ts';
import { LIST_AGAIN_MS } from './watch/reflector.ts';

const app = (number: number, domain = 'a.example') => ({ id: fakeId(number), name: `app-${number}`, labels: { 'sluice.domain': domain } });

const problemsOf = (snapshot: Snapshot): string[] =>
  snapshot.kind === 'listed' ? snapshot.problems.map(({ origin, code, message }) => `${origin}: ${code}: ${message}`) : [];

/** The engine can't inspect these containers. */
function spoil(engine: FakeEngine, which: RegExp, respond = (response: ServerResponse) => response.writeHead(500).end(BROKEN)): void {
  engine.intercept = (path, response) => {
    if (!/^\/containers\/\w{64}\/json$/.test(path) || !which.test(path)) return false;
    respond(response);
    return true;
  };
}

const BROKEN = '{"message":"RWLayer is unexpectedly nil"}';

const FIRST = /\/0{11}1f+\/json$/;

test('a container whose inspection hangs stays as it was, while others are found', async (t) => {
  const unanswered = new Set<() => void>();
  const clock: Clock = {
    ...systemClock,
    after: (ms, task) => {
      if (ms !== ANSWER_MS) return systemClock.after(ms, task);
      unanswered.add(task);
      return () => unanswered.delete(task);
    },
  };
  const { engine, source, next, snapshots } = await started(t, clock);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  // As if the engine waited for a lock.
  const asked = Promise.withResolvers<void>();
  engine.intercept = (path) => {
    if (path !== `/containers/${fakeId(1)}/json`) return false;
    asked.resolve();
    return true;
  };
  engine.change(fakeId(1), { health: 'unhealthy' });
  source.relist();
  engine.run(app(3, 'c.example'));
  await asked.promise;
  while (unanswered.size > 1) await wait(5);
  for (const giveUp of unanswered) giveUp();
  const { snapshot } = await next('a.example=healthy b.example=healthy c.example=healthy');
  assert.match(problemsOf(snapshot).join(), /^container app-1 \(0{11}1\): not_inspected: .*no response within 10 s; .*docker rm -f app-1/);
  assert.deepEqual(
    snapshots.filter(({ snapshot: { kind } }) => kind === 'failed'),
    [],
  );
});

test('containers that can’t be inspected at the start are used as they are listed, and named with what to do', async (t) => {
  const { engine, located, run, next, listen, snapshots } = withEngine(t);
  for (let number = 1; number < 20; number++) engine.run(app(number, `${number}.example`));
  engine.die(fakeId(4));
  spoil(engine, /0[34]f+\/json$/);
  await listen();
  located('d', []);
  run();
  // When a container was created is listed in seconds.
  const all = [...Array.from({ length: 19 }, (_, nth) => nth + 1).filter((number) => number !== 3 && number !== 4), 3];
  const { snapshot } = await next(all.map((number) => `${number}.example=healthy`).join(' '));
  const [first, second] = problemsOf(snapshot).sort();
  assert.match(
    first ?? '',
    /^container app-3 \(0{11}3\): not_inspected: the container engine at .* could not inspect a container: .*nil; .*lists.* docker rm -f app-3/,
  );
  assert.match(second ?? '', /^container app-4 /);
  assert.equal(snapshots.length, 1);
});

test('so are all of them if none can be inspected, and when the engine cuts off its responses, as if they made it crash', async (t) => {
  // The pauses between lists.
  const { clock } = clockWithShortWaits(STREAM_BEGINS_MS + 1, LIST_AGAIN_MS);
  const { engine, located, run, next, listen, snapshots } = withEngine(t, clock);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  spoil(engine, /./, (response) => response.destroy());
  await listen();
  located('d', []);
  run();
  const { snapshot } = await next('a.example=healthy b.example=healthy');
  assert.equal(problemsOf(snapshot).length, 2);
  engine.run(app(3, 'c.example'));
  await next('a.example=healthy b.example=healthy c.example=healthy');
  engine.die(fakeId(1));
  await next('b.example=healthy c.example=healthy a.example=nowhere');
  engine.change(fakeId(1), { running: true });
  engine.emit('start', fakeId(1));
  await next('a.example=healthy b.example=healthy c.example=healthy');
  assert.ok(snapshots.every(({ snapshot: { kind } }) => kind === 'listed'));
});

test('a list says at which port and address such a container listens, and whether it is healthy', async (t) => {
  const { engine, source, next } = await started(t, systemClock, toRoutes);
  spoil(engine, /./);
  engine.run({ ...app(1), address: '172.18.0.9', port: 8080, note: 'health: starting' });
  const { snapshot } = await next('a.example=starting');
  assert.ok(snapshot.kind === 'listed');
  assert.partialDeepStrictEqual(snapshot.routes[0]?.upstreams, [{ address: '172.18.0.9:8080', state: 'starting' }]);
  for (const health of ['healthy', 'unhealthy']) {
    engine.change(fakeId(1), { note: health });
    source.relist();
    await next(`a.example=${health}`);
  }
});

test('a container that may not be inspected is used as it is listed, and others are found', async (t) => {
  const { engine, located, run, next, listen, snapshots } = withEngine(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  spoil(engine, FIRST, (response) => response.writeHead(403).end('{"message":"authorization denied by plugin"}'));
  await listen();
  located('d', []);
  run();
  const { snapshot } = await next('b.example=healthy a.example=healthy');
  assert.match(
    problemsOf(snapshot).join(),
    /not_inspectable: .* refuses to inspect a container \(403\); .*allow containers.*; only what the engine lists/,
  );
  engine.run(app(3, 'c.example'));
  await next('b.example=healthy c.example=healthy a.example=healthy');
  assert.ok(!snapshots.some(({ snapshot: { kind } }) => kind === 'failed'));
});

test('a stopped container that is removed while its inspection takes long stays removed', async (t) => {
  const { engine, source, located, run, next, listen } = withEngine(t);
  engine.run({ ...app(1), running: false });
  engine.run(app(2, 'b.example'));
  await listen();
  located('d', []);
  run();
  await next('b.example=healthy');
  const asked = Promise.withResolvers<void>();
  engine.intercept = (path) => {
    if (path !== `/containers/${fakeId(1)}/json`) return false;
    asked.resolve();
    return true;
  };
  engine.emit('rename', fakeId(1));
  await asked.promise;
  engine.remove(fakeId(1));
  engine.run(app(3, 'c.example'));
  await next('b.example=healthy c.example=healthy');
  assert.deepEqual(
    source.readings().map(({ name }) => name),
    ['app-2', 'app-3'],
  );
});

test('a container that can’t be inspected stays as it was, while others are found, until it can be inspected again', async (t) => {
  const { engine, source, next } = await started(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  spoil(engine, FIRST);
  engine.change(fakeId(1), { health: 'unhealthy' });
  source.relist();
  engine.run(app(3, 'c.example'));
  const { snapshot } = await next('a.example=healthy b.example=healthy c.example=healthy');
  const [problem = ''] = problemsOf(snapshot);
  assert.match(
    problem,
    /^container app-1 \(0{11}1\): not_inspected: the container engine at .* could not inspect a container: .*RWLayer is unexpectedly nil/,
  );
  engine.intercept = () => false;
  source.relist();
  const after = await next('a.example=unhealthy b.example=healthy c.example=healthy');
  assert.deepEqual(problemsOf(after.snapshot), []);
});

test('lists in which nothing is new but a container that can’t be inspected are no outage', async (t) => {
  const { engine, source, next, snapshots } = await started(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  spoil(engine, FIRST);
  engine.change(fakeId(1), { health: 'unhealthy' });
  engine.run(app(3, 'c.example'));
  await next('a.example=healthy b.example=healthy c.example=healthy');
  for (let lists = 0; lists < 3; lists++) {
    const before = snapshots.length;
    source.relist();
    while (snapshots.length === before) await wait(5);
    const [last] = snapshots.slice(-1);
    assert.equal(gist((last as { snapshot: Snapshot }).snapshot), 'a.example=healthy b.example=healthy c.example=healthy');
  }
});

test('a stopped container that can’t be inspected does not keep others from being found at the start', async (t) => {
  const { engine, located, run, next, listen } = withEngine(t);
  engine.run({ ...app(1), running: false });
  engine.run(app(2, 'b.example'));
  spoil(engine, FIRST);
  await listen();
  located('d', []);
  run();
  const { snapshot } = await next('b.example=healthy');
  assert.match(problemsOf(snapshot).join(), /not_inspected/);
});

test('a container that can’t be inspected after its engine has restarted is not used at its last address, which may be another’s', async (t) => {
  const { engine, next, listen, snapshots } = await started(t, systemClock, toRoutes);
  engine.run({ ...app(1), health: 'healthy', address: '172.18.0.2' });
  engine.run({ ...app(2, 'b.example'), health: 'healthy', address: '172.18.0.3' });
  await next('a.example=healthy b.example=healthy');
  await engine.stop();
  engine.change(fakeId(1), { address: '172.18.0.3' });
  engine.change(fakeId(2), { address: '172.18.0.2' });
  spoil(engine, FIRST);
  await listen();
  const addresses = () => {
    const last = snapshots.at(-1)?.snapshot;
    return last?.kind === 'listed' ? last.routes.map(({ upstreams }) => upstreams[0]?.address).join(' ') : '';
  };
  while (!addresses().endsWith('172.18.0.2:80')) await wait(5);
  assert.equal(addresses(), '172.18.0.3:80 172.18.0.2:80');
});

test('a container that started after the last list stays in use if it can’t be inspected any more', async (t) => {
  const { engine, located, run, next, listen } = withEngine(t);
  engine.run({ ...app(1), running: false });
  engine.run(app(2, 'b.example'));
  await listen();
  located('d', []);
  run();
  await next('b.example=healthy');
  engine.change(fakeId(1), { running: true });
  engine.emit('start', fakeId(1));
  await next('a.example=healthy b.example=healthy');
  spoil(engine, FIRST);
  engine.emit('rename', fakeId(1));
  engine.run(app(3, 'c.example'));
  const { snapshot } = await next('a.example=healthy b.example=healthy c.example=healthy');
  assert.match(problemsOf(snapshot).join(), /not_inspected/);
});

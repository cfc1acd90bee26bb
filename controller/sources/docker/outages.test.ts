import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import type { Snapshot } from '../source.ts';
import { ANSWER_MS } from './engine/engine.ts';
import { translate as toRoutes } from './routes/translate.ts';
import { gist, started, withEngine } from './testing/docker-source.ts';
import { fakeId } from './testing/fake-container.ts';
import type { FakeEngine } from './testing/fake-engine.ts';
import { RESYNC_MS } from './watch/reflector.ts';

const app = (number: number, domain = 'a.example') => ({ id: fakeId(number), name: `app-${number}`, labels: { 'sluice.domain': domain } });

test('an engine that is unavailable at the start is used once it becomes available', async (t) => {
  const { engine, path, located, run, next, listen, log } = withEngine(t);
  located('d', []);
  run();
  await next(
    `failed: no container engine at ${path}: there is no such socket; start the engine, mount its socket there, or name another with --docker SOCKET`,
  );
  await wait(300);
  assert.equal(log.lines.filter(({ level }) => level === 'warn').length, 1, 'the same failure is logged once');
  engine.run(app(1));
  await listen();
  await next('a.example=healthy');
});

test('after an interrupted stream routes stay, and changes in the meantime are found', async (t) => {
  const { engine, next, snapshots } = await started(t);
  engine.run(app(1));
  await next('a.example=healthy');
  const before = snapshots.length;
  engine.cutStreams();
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  const between = snapshots.slice(before).map(({ snapshot }) => gist(snapshot).slice(0, 40));
  assert.ok(between[0]?.startsWith('failed: the container engine at'), between.join());
  assert.ok(!between.includes('') && !between.some((one) => one.includes('nowhere')), between.join());
});

test('a signal sent while the stream was interrupted is reported afterwards, but only once', async (t) => {
  const { engine, next } = await started(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  engine.cutStreams();
  engine.kill(fakeId(1), '15');
  await next('a.example=draining b.example=healthy');
});

test('an engine that restarts with a new socket is followed again', async (t) => {
  const { engine, next, listen } = await started(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  await engine.stop();
  engine.containers.delete(fakeId(2));
  await listen();
  await next('a.example=healthy b.example=nowhere');
  engine.run(app(3, 'c.example'));
  await next('a.example=healthy c.example=healthy b.example=nowhere');
});

test('an engine that was away for long is listed within a moment of its return, as containers may have each other’s addresses', async (t) => {
  let waits = 0;
  const hurried: Clock = {
    ...systemClock,
    after: (ms, task) => {
      if (ms > 250) return () => undefined;
      waits++;
      return systemClock.after(0, task);
    },
  };
  const { engine, next, listen } = await started(t, hurried);
  engine.run(app(1));
  await next('a.example=healthy');
  await engine.stop();
  waits = 0;
  while (waits < 20) await wait(1);
  engine.change(fakeId(1), { health: 'unhealthy' });
  await listen();
  await next('a.example=unhealthy');
});

test('the first list after that takes effect at once, and other first lists do not', async (t) => {
  const { engine, next, listen, snapshots } = await started(t, systemClock, toRoutes);
  assert.ok(snapshots.every(({ snapshot }) => snapshot.kind === 'listed' && !snapshot.urgent));
  engine.run({ ...app(1), health: 'healthy' });
  await next('a.example=healthy');
  await engine.stop();
  while (snapshots.at(-1)?.snapshot.kind !== 'failed') await wait(5);
  engine.change(fakeId(1), { address: '172.18.0.3' });
  await listen();
  const { snapshot } = await next('a.example=healthy');
  assert.ok(snapshot.kind === 'listed' && snapshot.urgent);
  assert.equal(snapshot.routes[0]?.upstreams[0]?.address, '172.18.0.3:80');
});

test('an empty list after a failure counts only if a second one confirms it five seconds later', async (t) => {
  const { engine, next, listen, snapshots } = await started(t);
  engine.run(app(1));
  await next('a.example=healthy');
  await engine.stop();
  const kept = engine.containers.get(fakeId(1));
  engine.containers.clear();
  await listen();
  while (engine.following === 0) await wait(5);
  await wait(200);
  assert.ok(!snapshots.some(({ snapshot }) => gist(snapshot).includes('nowhere')));
  if (kept) engine.containers.set(fakeId(1), kept);
  engine.emit('start', fakeId(1));
  await next('a.example=healthy');
});

test('a container that stops responding while the engine is away is not used until it is listed, as its address may be another’s', async (t) => {
  const { engine, source, next, listen, snapshots } = await started(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  const report = (number: number, healthy: boolean) =>
    source.hear?.({
      kind: 'upstream',
      dataplane: 'd',
      address: '172.18.0.2:80',
      id: fakeId(number),
      healthy,
      reason: 'connection refused',
    });
  report(2, false);
  report(2, true);
  await engine.stop();
  while (snapshots.at(-1)?.snapshot.kind !== 'failed') await wait(5);
  report(1, false);
  const { snapshot } = await next('a.example=unhealthy b.example=healthy');
  assert.ok(snapshot.kind === 'listed' && snapshot.repeated === true);
  // Something responds there again, but the listing is still a failed one.
  report(1, true);
  report(1, false);
  assert.equal(snapshots.at(-1)?.snapshot.kind, 'failed');
  assert.equal(snapshots.filter(({ snapshot }) => gist(snapshot).includes('unhealthy')).length, 1);
  await listen();
  await next('a.example=healthy b.example=healthy');
});

test('a failed list is not an empty list', async (t) => {
  const { engine, next, snapshots } = await started(t);
  engine.run(app(1));
  await next('a.example=healthy');
  const before = snapshots.length;
  engine.intercept = (path, response) => {
    if (path !== '/containers/json') return false;
    response.writeHead(500).end('{"message":"broken"}');
    return true;
  };
  engine.cutStreams();
  while (!snapshots.slice(before).some(({ snapshot }) => gist(snapshot).includes('broken'))) await wait(5);
  engine.intercept = () => false;
  await next('a.example=healthy');
  assert.ok(!snapshots.some(({ snapshot }) => gist(snapshot).includes('nowhere')));
});

/** The engine can't inspect this container. */
function spoil(engine: FakeEngine, id: string): void {
  engine.intercept = (path, response) => {
    if (path !== `/containers/${id}/json`) return false;
    response.writeHead(500).end('{"message":"RWLayer is unexpectedly nil"}');
    return true;
  };
}

const problemsOf = (snapshot: Snapshot): string[] =>
  snapshot.kind === 'listed' ? snapshot.problems.map(({ origin, code, message }) => `${origin}: ${code}: ${message}`) : [];

test('a container that can’t be inspected stays as it was, while others are found, until it can be inspected again', async (t) => {
  const { engine, source, next } = await started(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  spoil(engine, fakeId(1));
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
  spoil(engine, fakeId(1));
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
  spoil(engine, fakeId(1));
  await listen();
  located('d', []);
  run();
  const { snapshot } = await next('b.example=healthy');
  assert.match(problemsOf(snapshot).join(), /not_inspected/);
});

test('a running container that can’t be inspected at the start is not left out, and neither are all of them later', async (t) => {
  const { engine, located, run, next, listen, snapshots } = withEngine(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  spoil(engine, fakeId(1));
  await listen();
  located('d', []);
  run();
  while (snapshots.length === 0) await wait(5);
  assert.match(gist((snapshots[0] as { snapshot: Snapshot }).snapshot), /^failed: .*RWLayer/);
  engine.intercept = () => false;
  await next('a.example=healthy b.example=healthy');
  engine.intercept = (path, response) => {
    if (!/^\/containers\/\w{64}\/json$/.test(path)) return false;
    response.writeHead(500).end('{"message":"broken"}');
    return true;
  };
  engine.emit('start', fakeId(1));
  while (!snapshots.some(({ snapshot }) => gist(snapshot).includes('broken'))) await wait(5);
});

test('a container stopped before the controller started drains, unless it was restarted since', async (t) => {
  const { engine, located, run, next, listen } = withEngine(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  engine.kill(fakeId(1), '15');
  engine.kill(fakeId(2), '15');
  engine.emit('die', fakeId(2));
  engine.emit('start', fakeId(2));
  await listen();
  located('d', []);
  run();
  await next('a.example=draining b.example=healthy');
});

test('a session that ends as planned is renewed silently, and finds changes without events', async (t) => {
  const short: Clock = { ...systemClock, after: (ms, task) => systemClock.after(ms === RESYNC_MS ? 200 : ms, task) };
  const { engine, next, snapshots } = await started(t, short);
  engine.run(app(1));
  await next('a.example=healthy');
  engine.containers.set(fakeId(2), app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  engine.containers.delete(fakeId(1));
  await next('b.example=healthy a.example=nowhere');
  assert.ok(engine.count(/events/) >= 3);
  assert.deepEqual(
    snapshots.filter(({ snapshot }) => snapshot.kind === 'failed'),
    [],
  );
});

test('an engine whose clock is off by hours is still followed, and repeated events count once', async (t) => {
  for (const skew of [-7_200_000, 7_200_000]) {
    const { engine, located, run, next, listen } = withEngine(t);
    engine.skew = skew;
    await listen();
    located('d', []);
    run();
    await next('');
    engine.run(app(1));
    await next('a.example=healthy');
    engine.kill(fakeId(1), '15');
    await next('a.example=draining');
    engine.emit('start', fakeId(1));
    await next('a.example=healthy');
    engine.cutStreams();
    engine.run(app(2, 'b.example'));
    await next('a.example=healthy b.example=healthy');
  }
});

test('an engine that starts its stream only with the first event is still listed', async (t) => {
  const { engine, located, run, next, listen } = withEngine(t);
  engine.intercept = (path) => path === '/events';
  engine.run(app(1));
  await listen();
  located('d', []);
  run();
  await next('a.example=healthy');
});

test('a source stopped while the engine does not respond ends at once without a snapshot', async (t) => {
  const patient: Clock = { ...systemClock, after: (ms, task) => (ms === ANSWER_MS ? () => undefined : systemClock.after(ms, task)) };
  for (const silent of ['/version', '/events', '/containers/json', `/containers/${fakeId(1)}/json`]) {
    const { engine, located, run, listen, stop, snapshots } = withEngine(t, patient);
    engine.intercept = (path) => path === silent;
    engine.run(app(1));
    await listen();
    located('d', []);
    run();
    while (engine.count(new RegExp(`${silent}$`)) === 0) await wait(1);
    await stop();
    assert.deepEqual(snapshots, [], silent);
  }
});

test('a container that can’t be inspected after its engine has restarted is not used at its last address, which may be another’s', async (t) => {
  const { engine, next, listen, snapshots } = await started(t, systemClock, toRoutes);
  engine.run({ ...app(1), health: 'healthy', address: '172.18.0.2' });
  engine.run({ ...app(2, 'b.example'), health: 'healthy', address: '172.18.0.3' });
  await next('a.example=healthy b.example=healthy');
  await engine.stop();
  engine.change(fakeId(1), { address: '172.18.0.3' });
  engine.change(fakeId(2), { address: '172.18.0.2' });
  spoil(engine, fakeId(1));
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
  spoil(engine, fakeId(1));
  engine.emit('rename', fakeId(1));
  engine.run(app(3, 'c.example'));
  const { snapshot } = await next('a.example=healthy b.example=healthy c.example=healthy');
  assert.match(problemsOf(snapshot).join(), /not_inspected/);
});

test('a container that does not respond is inspected, as its end may not have been reported', async (t) => {
  const endless: Clock = { ...systemClock, after: (ms, task) => (ms === RESYNC_MS ? () => undefined : systemClock.after(ms, task)) };
  const { engine, source, next } = await started(t, endless);
  engine.run(app(1));
  await next('a.example=healthy');
  engine.change(fakeId(1), { running: false });
  source.hear?.({
    kind: 'upstream',
    dataplane: 'd',
    address: '172.18.0.2:80',
    id: fakeId(1),
    healthy: false,
    reason: 'connection refused',
  });
  await next('a.example=nowhere');
});

test('a container that its engine has restarted no longer drains, although its end was never reported', async (t) => {
  const { engine, next, listen } = await started(t);
  engine.run({ ...app(1), stopTimeout: 3_600 });
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  engine.kill(fakeId(1), '15');
  await next('a.example=draining b.example=healthy');
  await engine.stop();
  engine.change(fakeId(1), { startedAt: '2126-01-01T00:00:00.000000000Z' });
  await listen();
  await next('a.example=healthy b.example=healthy');
});

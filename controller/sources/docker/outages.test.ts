import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { ANSWER_MS } from './engine/engine.ts';
import { translate as toRoutes } from './routes/translate.ts';
import { gist, started, withEngine } from './testing/docker-source.ts';
import { fakeId } from './testing/fake-container.ts';
import { RESYNC_MS, SECOND_LISTING_MS } from './watch/reflector.ts';

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
  let awaitsSecond = false;
  const standing: Clock = {
    ...systemClock,
    monotonic: () => 0,
    after: (ms, task) => {
      if (ms !== SECOND_LISTING_MS) return systemClock.after(ms, task);
      awaitsSecond = true;
      return () => undefined;
    },
  };
  const { engine, next, listen, snapshots } = await started(t, standing);
  engine.run(app(1));
  await next('a.example=healthy');
  await engine.stop();
  const kept = engine.containers.get(fakeId(1));
  engine.containers.clear();
  await listen();
  while (!awaitsSecond) await wait(5);
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
    source.notify?.({
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

test('a container told to stop before the engine went away is not used until it is listed, as an engine that ends stops all', async (t) => {
  const { engine, next, listen, snapshots } = await started(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  engine.kill(fakeId(1), '15');
  await next('a.example=draining b.example=healthy');
  await engine.stop();
  const { snapshot } = await next('a.example=unhealthy b.example=healthy');
  assert.ok(snapshot.kind === 'listed' && snapshot.repeated === true && snapshot.urgent);
  assert.equal(snapshots.at(-1)?.snapshot.kind, 'failed');
  await listen();
  await next('a.example=draining b.example=healthy');
});

test('a container told to stop is not used either while connections to an engine that restarts wait, as where systemd has its socket', async (t) => {
  const { engine, next } = await started(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  engine.kill(fakeId(1), '15');
  await next('a.example=draining b.example=healthy');
  engine.intercept = () => true;
  engine.cutStreams();
  await next('a.example=unhealthy b.example=healthy');
});

test('a container told to stop stays the last resort if only the stream of events ends', async (t) => {
  const { engine, next, snapshots } = await started(t);
  engine.run(app(1));
  await next('a.example=healthy');
  engine.kill(fakeId(1), '15');
  await next('a.example=draining');
  engine.cutStreams();
  await next('a.example=draining');
  assert.ok(!snapshots.some(({ snapshot }) => gist(snapshot).includes('unhealthy')));
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

test('a container that was sent its stop signal before that drains for as long as it may take to stop, with any stop signal', async (t) => {
  const { engine, located, run, next, listen } = withEngine(t);
  engine.skew = -120_000;
  engine.run({ ...app(1), stopTimeout: 300 });
  engine.run(app(2, 'b.example'));
  engine.kill(fakeId(1), '15');
  engine.kill(fakeId(2), '15');
  engine.skew = 0;
  engine.run({ ...app(3, 'c.example'), stopSignal: 'SIGWINCH' });
  engine.kill(fakeId(3), '28');
  engine.run(app(4, 'd.example'));
  engine.kill(fakeId(4), '28');
  await listen();
  located('d', []);
  run();
  await next('a.example=draining b.example=healthy c.example=draining d.example=healthy');
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

test('after the engine was away, addresses are those that it lists, however long it takes to inspect a container', async (t) => {
  const patient: Clock = { ...systemClock, after: (ms, task) => (ms < ANSWER_MS ? systemClock.after(ms, task) : () => undefined) };
  const { engine, next, listen, snapshots } = await started(t, patient, toRoutes);
  engine.run({ ...app(1), health: 'healthy', address: '172.18.0.2' });
  engine.run({ ...app(2, 'b.example'), health: 'healthy', address: '172.18.0.3' });
  await next('a.example=healthy b.example=healthy');
  await engine.stop();
  while (snapshots.at(-1)?.snapshot.kind !== 'failed') await wait(5);
  engine.change(fakeId(1), { address: '172.18.0.3' });
  engine.change(fakeId(2), { address: '172.18.0.2' });
  engine.intercept = (path) => /^\/containers\/\w{64}\/json$/.test(path);
  await listen();
  const { snapshot } = await next('a.example=healthy b.example=healthy');
  assert.ok(snapshot.kind === 'listed' && snapshot.urgent);
  assert.deepEqual(
    snapshot.routes.map(({ upstreams }) => upstreams[0]?.address),
    ['172.18.0.3:80', '172.18.0.2:80'],
  );
});

test('an engine that ends each session as soon as it has been listed is listed less and less often', async (t) => {
  let longest = 0;
  const hurried: Clock = {
    ...systemClock,
    after: (ms, task) => {
      if ([20, 250, 500, 1_000].includes(ms) || ms >= 5_000) return systemClock.after(ms, task);
      longest = Math.max(longest, ms);
      return systemClock.after(0, task);
    },
  };
  const { engine, next } = await started(t, hurried);
  engine.run(app(1));
  await next('a.example=healthy');
  for (let cuts = 0; cuts < 10; cuts++) {
    engine.cutStreams();
    await next('a.example=healthy');
  }
  assert.ok(longest >= 2_500, `${longest} ms`);
});

test('a container that does not respond is inspected, as its end may not have been reported', async (t) => {
  const endless: Clock = { ...systemClock, after: (ms, task) => (ms === RESYNC_MS ? () => undefined : systemClock.after(ms, task)) };
  const { engine, source, next } = await started(t, endless);
  engine.run(app(1));
  await next('a.example=healthy');
  engine.change(fakeId(1), { running: false });
  source.notify?.({
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { ANSWER_MS } from './engine/engine.ts';
import { gist, started, withEngine } from './testing/docker-source.ts';
import { fakeId } from './testing/fake-container.ts';
import { RESYNC_MS } from './watch/reflector.ts';

const app = (number: number, domain = 'a.example') => ({ id: fakeId(number), name: `app-${number}`, labels: { 'sluice.domain': domain } });

test('an engine that is away at the start is found when it comes', async (t) => {
  const { engine, path, located, run, next, listen, log } = withEngine(t);
  located('d', []);
  run();
  await next(
    `failed: no container engine at ${path}: there is no such socket; start the engine, mount its socket there, or name another with --docker SOCKET`,
  );
  await wait(300);
  assert.equal(log.lines.filter(({ level }) => level === 'warn').length, 1, 'the same failure is told once');
  engine.run(app(1));
  await listen();
  await next('a.example=healthy');
});

test('a stream that is cut has failed, routes stay, and what happened meanwhile is found', async (t) => {
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

test('a signal that was sent while the stream was cut is heard of afterwards, and not a second time', async (t) => {
  const { engine, next } = await started(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  engine.cutStreams();
  engine.kill(fakeId(1), '15');
  await next('a.example=draining b.example=healthy');
});

test('an engine that ends and comes back on a new socket is followed again', async (t) => {
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

test('an empty list after a failure is believed only when a second one, five seconds later, agrees', async (t) => {
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
  engine.tell('start', fakeId(1));
  await next('a.example=healthy');
});

test('a list that fails is no empty list', async (t) => {
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

test('a container that was told to end before the controller started drains, one that was started again since does not', async (t) => {
  const { engine, located, run, next, listen } = withEngine(t);
  engine.run(app(1));
  engine.run(app(2, 'b.example'));
  engine.kill(fakeId(1), '15');
  engine.kill(fakeId(2), '15');
  engine.tell('die', fakeId(2));
  engine.tell('start', fakeId(2));
  await listen();
  located('d', []);
  run();
  await next('a.example=draining b.example=healthy');
});

test('a session that ends in its time is renewed without a word, and finds what no event told', async (t) => {
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

test('an engine whose clock is hours away is followed all the same, and what it tells again is heard once', async (t) => {
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
    engine.tell('start', fakeId(1));
    await next('a.example=healthy');
    engine.cutStreams();
    engine.run(app(2, 'b.example'));
    await next('a.example=healthy b.example=healthy');
  }
});

test('an engine that begins its stream only with the first event is listed all the same', async (t) => {
  const { engine, located, run, next, listen } = withEngine(t);
  engine.intercept = (path) => path === '/events';
  engine.run(app(1));
  await listen();
  located('d', []);
  run();
  await next('a.example=healthy');
});

test('one that is stopped while the engine does not answer ends at once, and says nothing', async (t) => {
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

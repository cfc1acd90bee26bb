import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { translate as toRoutes } from './routes/translate.ts';
import { gist, started, withEngine } from './testing/docker-source.ts';
import { fakeId, inspectionOf, listingOf } from './testing/fake-container.ts';
import { RESYNC_MS } from './watch/reflector.ts';

const app = (number: number, domain = 'a.example') => ({ id: fakeId(number), name: `app-${number}`, labels: { 'sluice.domain': domain } });

test('reports a container that starts, and urgently one that exits', async (t) => {
  const { engine, next } = await started(t);
  for (let round = 1; round <= 5; round++) {
    engine.run(app(round));
    await next('a.example=healthy');
    engine.die(fakeId(round));
    const { snapshot } = await next('a.example=nowhere');
    assert.ok(snapshot.kind === 'listed' && snapshot.urgent);
  }
});

test('a stop signal drains at once, and so does the image’s own; a reload signal does not', async (t) => {
  const { engine, next } = await started(t);
  engine.run(app(1));
  engine.run({ ...app(2, 'b.example'), stopSignal: 'SIGUSR1' });
  await next('a.example=healthy b.example=healthy');
  engine.kill(fakeId(1), '1');
  engine.kill(fakeId(1), '10');
  engine.kill(fakeId(2), '10');
  const drained = await next('a.example=healthy b.example=draining');
  assert.ok(drained.snapshot.kind === 'listed' && drained.snapshot.urgent);
  engine.kill(fakeId(1), 'SIGTERM');
  await next('a.example=draining b.example=draining');
  engine.die(fakeId(1));
  await next('b.example=draining a.example=nowhere');
});

test('losing health and pausing are urgent, recovering is not', async (t) => {
  const { engine, next } = await started(t);
  engine.run({ ...app(1), health: 'healthy' });
  await next('a.example=healthy');
  const change = async (state: object, action: string, expected: string) => {
    engine.change(fakeId(1), state);
    engine.emit(action, fakeId(1));
    const { snapshot } = await next(`a.example=${expected}`);
    return snapshot.kind === 'listed' && snapshot.urgent;
  };
  assert.equal(await change({ health: 'unhealthy' }, 'health_status: unhealthy', 'unhealthy'), true);
  assert.equal(await change({ health: 'healthy' }, 'health_status: healthy', 'healthy'), false);
  assert.equal(await change({ paused: true }, 'pause', 'paused'), true);
  assert.equal(await change({ paused: false }, 'unpause', 'healthy'), false);
});

test('a container that was already running is listed, and one without our labels is never inspected', async (t) => {
  const { engine, located, run, next, listen } = withEngine(t);
  engine.run(app(1));
  engine.run({ id: fakeId(2), labels: { other: 'x' } });
  await listen();
  located('d', []);
  run();
  await next('a.example=healthy');
  engine.emit('restart', fakeId(2));
  engine.run(app(3, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  assert.equal(engine.count(new RegExp(`${fakeId(2)}/json`)), 0);
});

test('nothing is listed until a data plane has reported its addresses', async (t) => {
  const { engine, source, located, run, next, listen, snapshots } = withEngine(t);
  engine.run(app(1));
  await listen();
  run();
  while (source.readings().length === 0) await wait(5);
  assert.equal(snapshots.length, 0);
  located('d', ['192.168.1.2']);
  await next('a.example=healthy');
});

test('every change is one log line', async (t) => {
  const { engine, next, log } = await started(t);
  engine.run(app(1));
  await next('a.example=healthy');
  engine.kill(fakeId(1), '15');
  await next('a.example=draining');
  engine.die(fakeId(1));
  await next('a.example=nowhere');
  engine.remove(fakeId(1));
  while (!log.lines.some(({ message }) => message === 'container gone')) await wait(1);
  const lines = log.lines.filter(({ message }) => message.startsWith('container '));
  assert.deepEqual(
    lines.map(({ level, message }) => `${level} ${message}`),
    ['info container routed', 'info container draining', 'info container not in rotation', 'info container gone'],
  );
  assert.deepEqual(lines[0]?.fields, { container: 'app-1', id: '000000000001', domains: ['a.example'], address: '172.18.0.2:80' });
});

test('200 containers are inspected once each, at most eight at a time', async (t) => {
  const { engine, located, run, next, listen } = withEngine(t);
  let asking = 0;
  let most = 0;
  engine.intercept = (path, response) => {
    if (!/^\/containers\/[^/]+\/json$/.test(path) || path === '/containers/json') return false;
    asking += 1;
    most = Math.max(most, asking);
    response.once('close', () => {
      asking -= 1;
    });
    return false;
  };
  for (let number = 1; number <= 200; number++) engine.run(app(number, `s${String(number).padStart(3, '0')}.example`));
  await listen();
  located('d', []);
  run();
  const all = Array.from({ length: 200 }, (_, at) => `s${String(at + 1).padStart(3, '0')}.example=healthy`).join(' ');
  await next(all);
  assert.ok(most <= 8, `${most} at a time`);
  assert.equal(engine.count(/containers\/[0-9a-f]{64}\/json/), 200);
  assert.equal(engine.count(/containers\/json/), 1);
});

test('1,000 events at once cause only a few requests', async (t) => {
  const { engine, next } = await started(t);
  engine.run(app(1));
  await next('a.example=healthy');
  const before = engine.asked.length;
  for (let number = 0; number < 1_000; number++) engine.emit('health_status: healthy', fakeId(1));
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
  const asked = engine.asked.length - before;
  assert.ok(asked <= 10, `${asked} questions`);
});

test('containers that end together are published together', async (t) => {
  const { engine, next, snapshots } = await started(t);
  for (let number = 1; number <= 200; number++) engine.run(app(number, 'a.example'));
  await next(`a.example=${Array(200).fill('healthy').join('+')}`);
  const before = snapshots.length;
  for (let number = 1; number <= 200; number++) engine.kill(fakeId(number), '15');
  for (let number = 1; number <= 200; number++) engine.die(fakeId(number));
  await next('a.example=nowhere');
  assert.ok(snapshots.length - before < 50, `${snapshots.length - before} times`);
});

test('a container that joins a network is inspected again, and if it is the data plane, all are listed again', async (t) => {
  const { engine, located, next } = await started(t);
  engine.run(app(1));
  engine.run({ id: fakeId(2), name: 'proxy', address: '172.18.0.9' });
  engine.run({ id: fakeId(3), name: 'other', address: '172.18.0.10' });
  await next('a.example=healthy');
  located('d', ['172.18.0.9']);
  const reads = () => engine.count(new RegExp(`${fakeId(1)}/json`));
  const lists = () => engine.count(/containers\/json/);
  while (lists() < 2) await wait(5);
  const before = [reads(), lists()];
  engine.tellNetwork('connect', fakeId(3));
  engine.tellNetwork('connect', fakeId(1));
  while (reads() === before[0]) await wait(1);
  assert.equal(lists(), before[1], 'a network of other containers is ignored');
  // Which container is the data plane is known once the list has been read.
  for (; lists() === before[1]; await wait(20)) engine.tellNetwork('connect', fakeId(2));
});

test('a container that starts while a list without it is on its way is found without another list', async (t) => {
  const endless: Clock = { ...systemClock, after: (ms, task) => (ms === RESYNC_MS ? () => undefined : systemClock.after(ms, task)) };
  const { engine, source, next } = await started(t, endless);
  engine.run(app(1));
  await next('a.example=healthy');
  const listing = Promise.withResolvers<() => void>();
  engine.intercept = (path, response) => {
    if (path !== '/containers/json') return false;
    const listed = JSON.stringify([...engine.containers.values()].map(listingOf));
    listing.resolve(() => response.setHeader('content-type', 'application/json').end(listed));
    return true;
  };
  source.relist();
  const respond = await listing.promise;
  engine.intercept = () => false;
  engine.run(app(2, 'b.example'));
  // Once this event has arrived, those before it have too.
  engine.kill(fakeId(1), '15');
  await next('a.example=draining');
  respond();
  await next('a.example=draining b.example=healthy');
});

test('a container that leaves a network is not used there from then on, however long its inspection takes', async (t) => {
  const { engine, next } = await started(t, systemClock, toRoutes);
  engine.run({ ...app(1), health: 'healthy' });
  engine.run({ ...app(2), health: 'healthy', address: '172.18.0.3' });
  await next('a.example=healthy+healthy');
  engine.intercept = (path) => path === `/containers/${fakeId(1)}/json`;
  engine.tellNetwork('disconnect', fakeId(1), 'other-id');
  engine.tellNetwork('disconnect', fakeId(1), 'shop-id');
  const { snapshot } = await next('a.example=healthy');
  assert.ok(snapshot.kind === 'listed' && snapshot.urgent);
  assert.equal(snapshot.routes[0]?.upstreams[0]?.address, '172.18.0.3:80');
});

test('a list from before that does not bring its address there back while the inspection takes long', async (t) => {
  const { engine, source, next } = await started(t, systemClock, toRoutes);
  engine.run({ ...app(1), health: 'healthy' });
  engine.run({ ...app(2), health: 'healthy', address: '172.18.0.3' });
  await next('a.example=healthy+healthy');
  const inspection = new RegExp(`/containers/${fakeId(1)}/json`);
  engine.intercept = (path) => inspection.test(path);
  engine.change(fakeId(1), { address: '172.18.0.4' });
  const before = engine.count(inspection);
  source.relist();
  while (engine.count(inspection) === before) await wait(1);
  engine.tellNetwork('disconnect', fakeId(1), 'shop-id');
  await next('a.example=healthy');
  engine.run({ ...app(3, 'b.example'), health: 'healthy', address: '172.18.0.4' });
  await next('a.example=healthy b.example=healthy');
});

test('a container that leaves a network while it is inspected for the first time is not used there', async (t) => {
  const { engine, next, snapshots } = await started(t, systemClock, toRoutes);
  const first = Promise.withResolvers<ServerResponse>();
  engine.intercept = (path, response) => {
    if (path !== `/containers/${fakeId(1)}/json`) return false;
    first.resolve(response);
    return true;
  };
  const before = engine.run({ ...app(1), health: 'healthy' });
  const response = await first.promise;
  engine.change(fakeId(1), { address: '' });
  engine.tellNetwork('disconnect', fakeId(1), 'shop-id');
  engine.run({ ...app(2, 'b.example'), health: 'healthy', address: '172.18.0.3' });
  await next('b.example=healthy');
  engine.intercept = () => false;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(inspectionOf(before)));
  await next('a.example=nowhere b.example=healthy');
  assert.ok(!snapshots.some(({ snapshot }) => gist(snapshot).includes('a.example=healthy')));
});

test('a health check that Podman reports before it has recorded it takes effect', async (t) => {
  const { engine, next } = await started(t);
  engine.run({ ...app(1), health: 'starting' });
  await next('a.example=starting');
  const inspection = new RegExp(`/containers/${fakeId(1)}/json`);
  const before = engine.count(inspection);
  engine.tellHealth(fakeId(1), 'starting');
  while (engine.count(inspection) === before) await wait(1);
  engine.change(fakeId(1), { health: 'healthy' });
  await next('a.example=healthy');
});

test('a container that leaves a network of Podman is not used there', async (t) => {
  const { engine, next } = await started(t, systemClock, toRoutes);
  engine.run({ ...app(1), health: 'healthy' });
  await next('a.example=healthy');
  engine.change(fakeId(1), { address: '' });
  engine.tellNetworkAsPodman('disconnect', fakeId(1));
  await next('a.example=nowhere');
});

test('only read requests were sent in all tests', async (t) => {
  const { engine, next } = await started(t);
  engine.run(app(1));
  await next('a.example=healthy');
  engine.cutStreams();
  await next('a.example=healthy');
  engine.remove(fakeId(1));
  await next('a.example=nowhere');
  const reads = /^GET (\/v\d+\.\d+)?\/(version|events|containers\/json|containers\/[0-9a-f]{64}\/json)$/;
  assert.deepEqual(
    engine.asked.filter((one) => !reads.test(one)),
    [],
  );
});

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import type { Snapshot } from '../source.ts';
import { ANSWER_MS } from './engine/engine.ts';
import { started, withEngine } from './testing/docker-source.ts';
import { fakeId, inspectionOf } from './testing/fake-container.ts';
import { SLOW_MS } from './watch/inspections.ts';

const app = (number: number, domain: string) => ({ id: fakeId(number), name: `app-${number}`, labels: { 'sluice.domain': domain } });

const problemsOf = (snapshot: Snapshot): string[] =>
  snapshot.kind === 'listed' ? snapshot.problems.map(({ origin, code, message }) => `${origin}: ${code}: ${message}`) : [];

/** A source whose engine does not respond to inspections of containers from number 2 to 9, and which waits for ever for any response. */
async function slow(t: TestContext) {
  const limits = new Set<() => void>();
  const clock: Clock = {
    ...systemClock,
    after: (ms, task) => {
      if (ms < ANSWER_MS) return systemClock.after(ms, task);
      if (ms === ANSWER_MS) limits.add(task);
      return () => limits.delete(task);
    },
  };
  const source = await started(t, clock);
  const { engine, next } = source;
  engine.run(app(1, 'a.example'));
  await next('a.example=healthy');
  const waiting = new Map<string, ServerResponse[]>();
  engine.intercept = (path, response) => {
    const id = /^\/containers\/(0{11}[2-9]f+)\/json$/.exec(path)?.[1];
    if (id === undefined) return false;
    waiting.set(id, [...(waiting.get(id) ?? []), response]);
    return true;
  };
  return {
    ...source,
    /** The time limits of all responses are over. */
    giveUp: () => {
      for (const task of limits) task();
    },
    asked: async (number: number) => {
      while (!waiting.has(fakeId(number))) await wait(1);
    },
    /** The engine responds at last, now and from now on. */
    respond: (number: number) => {
      engine.intercept = () => false;
      const container = engine.containers.get(fakeId(number));
      for (const response of waiting.get(fakeId(number)) ?? []) {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(container && inspectionOf({ ...container, running: true })));
      }
    },
  };
}

test('containers whose inspection takes long keep no others from being found, and are found when the engine responds', async (t) => {
  const { engine, next, asked, respond, snapshots } = await slow(t);
  for (let number = 2; number <= 9; number++) engine.run(app(number, 'b.example'));
  await asked(9);
  engine.run(app(10, 'c.example'));
  await next('a.example=healthy c.example=healthy');
  engine.run(app(11, 'd.example'));
  await next('a.example=healthy c.example=healthy d.example=healthy');
  respond(5);
  await next('a.example=healthy b.example=healthy c.example=healthy d.example=healthy');
  assert.deepEqual(
    snapshots.filter(({ snapshot: { kind } }) => kind === 'failed'),
    [],
  );
});

test('that is reported after the time limit, but no longer once the engine has responded', async (t) => {
  const { engine, next, asked, respond, giveUp, snapshots } = await slow(t);
  engine.run(app(2, 'b.example'));
  await asked(2);
  engine.run(app(10, 'c.example'));
  await next('a.example=healthy c.example=healthy');
  giveUp();
  const { snapshot } = await next('a.example=healthy c.example=healthy');
  assert.match(
    problemsOf(snapshot).join(),
    /^container 0{11}2 \(0{11}2\): not_inspected: .*no response within 10 s; the engine may be waiting for a volume .*if it never does, .*docker rm -f 0{11}2/,
  );
  respond(2);
  const after = await next('a.example=healthy b.example=healthy c.example=healthy');
  assert.deepEqual(problemsOf(after.snapshot), []);
  assert.ok(snapshots.every(({ snapshot: { kind } }) => kind === 'listed'));
});

test('after the engine was away, nothing waits for a container that it took too long for before', async (t) => {
  const { engine, next, asked, giveUp } = await slow(t);
  engine.run({ ...app(2, 'b.example'), running: false });
  await asked(2);
  engine.run(app(10, 'c.example'));
  await next('a.example=healthy c.example=healthy');
  giveUp();
  await next('a.example=healthy c.example=healthy');
  engine.cutStreams();
  engine.die(fakeId(1));
  await next('c.example=healthy a.example=nowhere');
});

test('what the engine says at last of a container that has exited meanwhile does not count', async (t) => {
  const { engine, next, asked, respond, snapshots } = await slow(t);
  engine.run(app(2, 'b.example'));
  await asked(2);
  engine.run(app(10, 'c.example'));
  await next('a.example=healthy c.example=healthy');
  engine.die(fakeId(2));
  engine.kill(fakeId(1), '15');
  await next('a.example=draining c.example=healthy');
  respond(2);
  while (engine.count(new RegExp(`${fakeId(2)}/json`)) < 2) await wait(1);
  engine.run(app(11, 'd.example'));
  await next('a.example=draining c.example=healthy d.example=healthy');
  assert.ok(!snapshots.some(({ snapshot }) => snapshot.kind === 'listed' && snapshot.routes.some(({ domain }) => domain === 'b.example')));
});

test('a stopped container whose inspection takes long keeps no others from being found at the start', async (t) => {
  const patient: Clock = { ...systemClock, after: (ms, task) => (ms < ANSWER_MS ? systemClock.after(ms, task) : () => undefined) };
  const { engine, located, run, next, listen } = withEngine(t, patient);
  engine.run({ ...app(1, 'a.example'), running: false });
  engine.run(app(2, 'b.example'));
  engine.intercept = (path) => path === `/containers/${fakeId(1)}/json`;
  await listen();
  located('d', []);
  run();
  await next('b.example=healthy');
});

test('however many inspections take long, others are found, and changes of others', async (t) => {
  const patient: Clock = {
    ...systemClock,
    // None is answered, so each may count as slow at once.
    after: (ms, task) => (ms < ANSWER_MS ? systemClock.after(ms === SLOW_MS || ms > 1_000 ? 0 : ms, task) : () => undefined),
  };
  const { engine, located, run, next, listen } = withEngine(t, patient);
  for (let number = 1; number <= 50; number++) engine.run({ ...app(number, 'a.example'), running: false });
  engine.run(app(51, 'b.example'));
  engine.intercept = (path) => /^\/containers\/\w{64}\/json$/.test(path);
  await listen();
  located('d', []);
  run();
  await next('b.example=healthy');
  engine.run(app(52, 'c.example'));
  await next('b.example=healthy c.example=healthy');
  engine.change(fakeId(51), { paused: true });
  engine.emit('pause', fakeId(51));
  await next('b.example=paused c.example=healthy');
  assert.ok(engine.count(/containers\/\w{64}\/json/) < 50);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import type { Snapshot } from '../source.ts';
import { ANSWER_MS } from './engine/engine.ts';
import { gist, started, withEngine } from './testing/docker-source.ts';
import { fakeId } from './testing/fake-container.ts';

const app = (number: number, domain = 'a.example') => ({ id: fakeId(number), name: `app-${number}`, labels: { 'sluice.domain': domain } });

const problemsOf = (snapshot: Snapshot): string[] =>
  snapshot.kind === 'listed' ? snapshot.problems.map(({ origin, code, message }) => `${origin}: ${code}: ${message}`) : [];

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

test('a container that can’t be inspected at the start is named, with what to do, always in the same words', async (t) => {
  const { engine, located, run, next, listen, snapshots, log } = withEngine(t);
  for (let number = 1; number < 20; number++) engine.run(app(number, `${number}.example`));
  engine.intercept = (path, response) => {
    if (!/0[34]f+\/json$/.test(path)) return false;
    response.writeHead(500);
    setTimeout(() => response.end('{"message":"RWLayer is unexpectedly nil"}'), Math.random() * 20);
    return true;
  };
  await listen();
  located('d', []);
  run();
  while (engine.count(/03f+\/json$/) < 5) await wait(5);
  const said = new Set(snapshots.map(({ snapshot }) => gist(snapshot)));
  assert.equal(said.size, 1);
  assert.match(
    [...said][0] ?? '',
    /^failed: container app-3 \(0{11}3\) and 1 more: the container engine at .* could not inspect a container: .*nil; .* docker rm -f app-3/,
  );
  assert.equal(log.lines.filter(({ level }) => level === 'warn').length, 1);
  engine.intercept = () => false;
  await next(Array.from({ length: 19 }, (_, nth) => `${nth + 1}.example=healthy`).join(' '));
});

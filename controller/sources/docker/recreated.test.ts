import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { translate } from './routes/translate.ts';
import { started, withEngine } from './testing/docker-source.ts';
import { fakeId } from './testing/fake-container.ts';

const GOOD = { 'sluice.domain': 'a.example', 'sluice.rate_limit': '10/s' };
const BAD = { ...GOOD, 'sluice.rate_limit': 'plenty' };
const web = (number: number, labels: Record<string, string>) => ({
  id: fakeId(number),
  name: 'web',
  address: `172.18.0.${number}`,
  health: 'healthy' as const,
  labels,
});

test('a container recreated with an error keeps its last good version, even if the engine restarts, and the error is logged', async (t) => {
  const { engine, next, log, path } = await started(t, undefined, translate);
  engine.run(web(2, GOOD));
  await next('a.example=healthy');
  engine.die(fakeId(2));
  engine.remove(fakeId(2));
  await next('a.example=nowhere');
  engine.run(web(3, BAD));
  const { snapshot } = await next('a.example=healthy');
  assert.ok(snapshot.kind === 'listed');
  assert.partialDeepStrictEqual(snapshot.routes[0], { rate_limit_rps: 10, upstreams: [{ address: '172.18.0.3:80' }] });
  assert.match(snapshot.problems[0]?.message ?? '', /the site keeps its last good version$/);
  const line = log.lines.findLast(({ message }) => message === 'container routed');
  assert.match((line?.fields as { mistake?: string } | undefined)?.mistake ?? '', /^sluice\.rate_limit "plenty"/);
  await engine.stop();
  while (log.lines.every(({ level }) => level !== 'warn')) await wait(1);
  await engine.listen(path);
  await next('a.example=healthy');
});

test('domains whose containers were removed together are forgotten together', async (t) => {
  const HOLD_MS = 21_000;
  const over: (() => void)[] = [];
  const held: Clock = {
    ...systemClock,
    after: (ms, task) => {
      if (ms !== HOLD_MS) return systemClock.after(ms, task);
      over.push(task);
      return () => undefined;
    },
  };
  const { engine, next, snapshots } = await started(t, held, translate);
  const domains = Array.from({ length: 100 }, (_, number) => `${number}.example`).sort();
  engine.run({ id: fakeId(1), labels: { 'sluice.domain': domains.join(), 'sluice.hold': `${HOLD_MS / 1_000}s` }, health: 'healthy' });
  await next(domains.map((domain) => `${domain}=healthy`).join(' '));
  engine.remove(fakeId(1));
  await next(domains.map((domain) => `${domain}=nowhere`).join(' '));
  const before = snapshots.length;
  assert.equal(over.length, domains.length);
  for (const task of over) task();
  await next('');
  assert.equal(snapshots.length - before, 1);
});

test('a controller that starts while an app is between two of its containers knows its domain, so that requests keep waiting', async (t) => {
  const { engine, next, listen, located, run } = withEngine(t, undefined, translate);
  const ended = (ago: number) => ({ running: false, finishedAt: new Date(Date.now() - ago).toISOString() });
  engine.run({ ...web(1, { ...GOOD, 'sluice.hold': '30s' }), ...ended(2_000) });
  engine.run({ ...web(2, { ...GOOD, 'sluice.domain': 'b.example' }), ...ended(3_600_000) });
  await listen();
  located('d', []);
  run();
  const { snapshot } = await next('a.example=nowhere');
  assert.equal(snapshot.kind === 'listed' && snapshot.routes[0]?.hold_secs, 30);
  engine.run(web(3, GOOD));
  await next('a.example=healthy');
});

test('it does so if the engine does not respond to the inspection of a container that it is about to start', async (t) => {
  const { engine, next, listen, located, run } = withEngine(t, undefined, translate);
  engine.run({ ...web(1, GOOD), running: false });
  engine.intercept = (path) => path.startsWith(`/containers/${fakeId(1)}/`);
  await listen();
  located('d', []);
  run();
  await next('a.example=nowhere');
});

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { until } from '../../../shared/runtime/testing/until.ts';
import type { Snapshot } from '../source.ts';
import { ANSWER_MS } from './engine/engine.ts';
import { translate as toRoutes } from './routes/translate.ts';
import { started, withEngine } from './testing/docker-source.ts';
import { fakeId } from './testing/fake-container.ts';
import { RESYNC_MS } from './watch/reflector.ts';

const app = (number: number, domain: string) => ({ id: fakeId(number), name: `app-${number}`, labels: { 'sluice.domain': domain } });

test('a session leaves nothing behind that lasts as long as the controller runs', async (t) => {
  const short: Clock = { ...systemClock, after: (ms, task) => systemClock.after(ms === RESYNC_MS ? 50 : ms, task) };
  const { engine, next, stopping } = await started(t, short);
  engine.run(app(1, 'a.example'));
  await next('a.example=healthy');
  for (let renewals = 1; renewals <= 10; renewals++) await next('a.example=healthy');
  const { length } = getEventListeners(stopping.signal, 'abort');
  assert.ok(length <= 5, `${length} listeners after ${engine.count(/events/)} sessions`);
});

const patient: Clock = { ...systemClock, after: (ms, task) => (ms < ANSWER_MS ? systemClock.after(ms, task) : () => undefined) };

const addresses = ({ snapshot }: { readonly snapshot: Snapshot }) =>
  snapshot.kind === 'listed' ? snapshot.routes.map(({ upstreams }) => upstreams[0]?.address) : [];

/** Two containers of which the first was listed with another address than it has since it was restarted. */
async function restartedElsewhere(t: TestContext) {
  const parts = await started(t, patient, toRoutes);
  const { engine, next, located } = parts;
  engine.run({ ...app(1, 'a.example'), health: 'healthy', address: '172.18.0.2' });
  engine.run({ ...app(2, 'b.example'), health: 'healthy', address: '172.18.0.3' });
  await next('a.example=healthy b.example=healthy');
  located('d', []);
  await next('a.example=healthy b.example=healthy');
  engine.die(fakeId(1));
  await next('b.example=healthy a.example=nowhere');
  engine.change(fakeId(1), { running: true, address: '172.18.0.9' });
  engine.emit('start', fakeId(1));
  assert.deepEqual(addresses(await next('a.example=healthy b.example=healthy')), ['172.18.0.9:80', '172.18.0.3:80']);
  const moveAgain = () => {
    engine.change(fakeId(1), { address: '172.18.0.2' });
    engine.change(fakeId(2), { address: '172.18.0.9' });
  };
  return { ...parts, moveAgain };
}

test('a list with the address that a container had in the one before moves it back there, although no event has said so', async (t) => {
  const { next, located, moveAgain } = await restartedElsewhere(t);
  moveAgain();
  located('d', []);
  assert.deepEqual(addresses(await next('a.example=healthy b.example=healthy')), ['172.18.0.2:80', '172.18.0.9:80']);
});

test('after the engine was away, that takes effect before any inspection', async (t) => {
  const { engine, next, listen, moveAgain } = await restartedElsewhere(t);
  await engine.stop();
  moveAgain();
  engine.intercept = (path) => /^\/containers\/\w{64}\/json$/.test(path);
  await listen();
  assert.deepEqual(addresses(await next('a.example=healthy b.example=healthy')), ['172.18.0.2:80', '172.18.0.9:80']);
});

test('the events of a Podman whose clock is hours behind, or is set back, take effect: it reports none of before the requested time', async (t) => {
  const endless: Clock = { ...systemClock, after: (ms, task) => (ms === RESYNC_MS ? () => undefined : systemClock.after(ms, task)) };
  const { engine, located, run, next, listen } = withEngine(t, endless);
  engine.isStrict = true;
  engine.skew = -7_200_000;
  await listen();
  located('d', []);
  run();
  await next('');
  engine.run(app(1, 'a.example'));
  await next('a.example=healthy');
  await engine.stop();
  engine.skew = -14_400_000;
  await listen();
  await next('a.example=healthy');
  engine.run(app(2, 'b.example'));
  await next('a.example=healthy b.example=healthy');
});

test('an engine that is reached and forbids all requests is asked less and less often', async (t) => {
  let longest = 0;
  const hurried: Clock = {
    ...systemClock,
    after: (ms, task) => {
      if ([20, 250, 500, 1_000].includes(ms) || ms >= 5_000) return systemClock.after(ms, task);
      longest = Math.max(longest, ms);
      return systemClock.after(0, task);
    },
  };
  const { engine } = await started(t, hurried);
  engine.intercept = (_path, response) => {
    response.statusCode = 403;
    response.end('{}');
    return true;
  };
  engine.cutStreams();
  while (longest < 2_500) await wait(5);
});

/** What a server that is no engine responds with. */
const OTHERS: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
  'a page': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Welcome</p>'),
  'a redirect': (response) => response.writeHead(301, { location: 'https://proxy.example/' }).end(),
  'Not Found': (response) => response.writeHead(404).end('404 page not found'),
};

for (const [what, respond] of Object.entries(OTHERS))
  test(`a server that is no engine and answers all requests with ${what} is asked less and less often`, async (t) => {
    let longest = 0;
    const hurried: Clock = {
      ...systemClock,
      after: (ms, task) => {
        if (ms < 5_000) longest = Math.max(longest, ms === 1_000 ? 0 : ms);
        return systemClock.after(ms < 5_000 ? 0 : ms, task);
      },
    };
    const { engine, listen, located, run, snapshots } = withEngine(t, hurried);
    engine.intercept = (_path, response) => {
      respond(response);
      return true;
    };
    await listen();
    located('d', []);
    run();
    while (longest < 2_500) await wait(5);
    assert.equal(snapshots.length, 1);
  });

test('an engine whose proxy says Not Found while it restarts is asked four times a second, for a minute from then', async (t) => {
  const pauses: number[] = [];
  let passed = 0;
  const noted: Clock = {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + passed,
    after: (ms, task) => {
      pauses.push(ms);
      return systemClock.after(ms < 5_000 && ms !== 1_000 ? 0 : ms, task);
    },
  };
  const { engine, next } = await started(t, noted);
  engine.run(app(1, 'a.example'));
  await next('a.example=healthy');
  // Since it was listed.
  passed = 61_000;
  let asked = 0;
  engine.intercept = (_path, response) => {
    response.writeHead(404).end('404 page not found');
    return ++asked > 0;
  };
  engine.cutStreams();
  while (asked < 20) await wait(5);
  assert.ok(pauses.filter((ms) => ms === 250).length >= 18);
  passed += 61_000;
  pauses.length = 0;
  await until('it to be asked less often', () => pauses.some((ms) => ms > 1_000 && ms < 5_000));
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fakeId } from '../../controller/sources/docker/testing/fake-container.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import type { Alert } from '../../shared/wire/dashboard.ts';
import type { FullRoute } from '../../shared/wire/status.ts';
import { app, type PairWithEngine, startPairWithEngine } from '../testing/pair-with-engine.ts';
import { Upstream } from '../testing/upstream.ts';

describe('with a container engine', () => {
  let pair: PairWithEngine;
  let upstream: Upstream;
  before(async () => {
    upstream = await Upstream.start('app');
    pair = await startPairWithEngine();
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    await upstream?.[Symbol.asyncDispose]();
  });

  test('a started container is served without a config file', async () => {
    const { engine, answers } = pair;
    for (let number = 1; number <= 2; number++) {
      engine.run(app(number, upstream.port, { 'sluice.domain': `s${number}.example` }));
      await answers(`s${number}.example`, 200);
    }
    engine.die(fakeId(1));
    await answers('s1.example', 503);
    await answers('s2.example', 200);
  });

  test('status and explain show the state of every labelled container, the reason, and what would change it', async () => {
    const { engine, answers, command, report } = pair;
    engine.run(app(11, upstream.port, { 'sluice.domain': 'good.example' }));
    engine.run({ ...app(12, upstream.port, { 'sluice.domain': 'sick.example' }), health: 'unhealthy' });
    engine.run(app(13, upstream.port, { 'sluice.domain': 'bad.example', 'sluice.rate_limit': 'plenty' }));
    await answers('good.example', 200);
    await answers('sick.example', 503);
    await answers('bad.example', 404);
    const status = await command('status');
    assert.match(status, /^app-11 +good\.example +127\.0\.0\.1:\d+ +accepted, resolved, programmed /m);
    assert.match(status, /^app-12 +sick\.example .* accepted, not resolved .*HEALTHCHECK fails; what would change it: /m);
    assert.match(status, /^app-13 +bad\.example +- +not accepted .*sluice\.rate_limit "plenty"/m);
    assert.match(await command('explain', 'sick.example'), /^ {2}containers +app-12 \(00000000000c\): accepted, not resolved since /m);
    assert.match(await command('explain', 'bad.example'), /^ {2}containers +app-13 \(00000000000d\): not accepted since /m);
    const { containers } = await report();
    assert.deepEqual(
      containers.slice(-3).map(({ container, accepted, resolved }) => [container, accepted.holds, resolved.holds]),
      [
        ['app-11', true, true],
        ['app-12', true, false],
        ['app-13', false, false],
      ],
    );
  });

  test('the data plane shows what the controller knows of each route, and alerts say what to do', async () => {
    const { engine, answers, admin } = pair;
    engine.run(app(15, upstream.port, { 'sluice.domain': 'well.example' }));
    engine.run({ ...app(16, upstream.port, { 'sluice.domain': 'ill.example' }), health: 'unhealthy' });
    await answers('well.example', 200);
    await answers('ill.example', 503);
    const holding = async (domain: string) => {
      const routes = JSON.parse(await admin('/routes?view=full')) as FullRoute[];
      const { accepted, resolved, programmed } = routes.find((route) => route.domain === domain)?.conditions ?? {};
      return [accepted, resolved, programmed].map((fact) => fact?.holds);
    };
    await until('the conditions to arrive', async () => (await holding('ill.example'))[1] === false);
    assert.deepEqual(
      [await holding('well.example'), await holding('ill.example')],
      [
        [true, true, true],
        [true, false, true],
      ],
    );
    const alerts = JSON.parse(await admin('/alerts')) as Alert[];
    const alert = alerts.find(({ domain, code }) => domain === 'ill.example' && code === 'pool_down');
    assert.match(alert?.message ?? '', /^ill\.example has no target in rotation: 127\.0\.0\.1:\d+: its source says unhealthy$/);
    assert.match(
      await pair.command('explain', 'ill.example'),
      /^ {2}conditions +not resolved since .*: no target is available: .* is unhealthy$/m,
    );
    for (const number of [15, 16]) engine.die(fakeId(number));
  });

  test('routes survive an outage of the engine, and changes made meanwhile are found when it is back', async () => {
    const { engine, answers, report, restart } = pair;
    engine.run(app(21, upstream.port, { 'sluice.domain': 'stays.example' }));
    engine.run(app(22, upstream.port, { 'sluice.domain': 'goes.example' }));
    await answers('stays.example', 200);
    await answers('goes.example', 200);
    await engine.stop();
    await until('the failure to be known', async () => (await report()).problems.some(({ code }) => code === 'source_failed'));
    await answers('stays.example', 200);
    await answers('goes.example', 200);
    engine.containers.delete(fakeId(22));
    await restart();
    await answers('goes.example', 503);
    await answers('stays.example', 200);
    assert.ok(!(await report()).problems.some(({ code }) => code === 'source_failed'));
  });
});

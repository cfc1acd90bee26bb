import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { App } from './testing/app.ts';
import { Discovery } from './testing/discovery.ts';
import { Engine } from './testing/engine.ts';
import { ownNetwork } from './testing/own-network.ts';

const skip = ownNetwork();

describe('restarts', { skip }, () => {
  let engine: Engine;
  let discovery: Discovery;
  before(async () => {
    engine = await Engine.start();
    discovery = await Discovery.start(engine);
  });
  after(async () => {
    await discovery?.[Symbol.asyncDispose]();
    await engine?.[Symbol.asyncDispose]();
  });

  const start = (app: string, address?: string) =>
    App.start(engine.docker, { app, labels: { 'sluice.domain': `${app}.test` }, ...(address !== undefined && { address }) });

  test('a restarted controller catches up on all changes, and no request is lost', async () => {
    const [old, staying] = [await start('led'), await start('led')];
    await discovery.answersWith(200, 'led.test');
    using load = discovery.load('led.test', 'led');
    for (const app of [old, staying]) await load.answeredBy(app.shortId);
    await discovery.controller?.kill('SIGKILL');
    const next = await start('led');
    const other = await start('late');
    await load.answers(50);
    await discovery.startController();
    await load.answeredBy(next.shortId);
    await discovery.answersWith(200, 'late.test');
    await Promise.all([old.stop(), other.stop()]);
    await load.answers(50);
    await discovery.lostNothing(load);
    // The end of its only container takes effect when the controller has read the event: until then, its address does not respond.
    await discovery.answersWith(503, 'late.test');
  });

  for (const [how, signal] of [
    ['stopped and started', 'SIGTERM'],
    ['killed and started', 'SIGKILL'],
  ] as const)
    test(`routes survive while the engine is ${how} again, and its events are followed afterwards`, async () => {
      const app = `engine-${signal.toLowerCase()}`;
      const first = await start(app);
      await discovery.answersWith(200, `${app}.test`);
      using load = discovery.load(`${app}.test`, app);
      await engine.stop(signal);
      await load.answers(100);
      await engine.startAgain();
      const second = await start(app);
      await load.answeredBy(second.shortId);
      await first.stop();
      await load.answers(50);
      await discovery.lostNothing(load);
    });

  test('a data plane that starts while the engine is down serves its saved routes', async () => {
    await start('kept');
    await discovery.answersWith(200, 'kept.test');
    await engine.stop();
    await discovery.dataplane?.kill();
    await discovery.startDataplane();
    const answer = await discovery.answersWith(200, 'kept.test');
    assert.match(answer.text, /^kept /);
    // This holds even if the controller only knows that the engine is down.
    await discovery.controller?.kill();
    await discovery.startController();
    await until('the controller to report its engine', async () => /engine|docker/i.test(await discovery.command('status')));
    assert.equal((await discovery.visit('kept.test')).status, 200);
    await engine.startAgain();
    const next = await start('kept');
    using load = discovery.load('kept.test', 'kept');
    await load.answeredBy(next.shortId);
    await discovery.lostNothing(load);
  });

  test('a container that the engine can’t inspect keeps no others from being found by a controller that starts, and is served', async () => {
    const damaged = await start('damaged');
    await discovery.answersWith(200, 'damaged.test');
    using load = discovery.load('damaged.test', 'damaged');
    await discovery.controller?.kill('SIGKILL');
    const { GraphDriver } = await damaged.container.inspect();
    const layers: Readonly<Record<string, string>> = GraphDriver.Data;
    // Its layers are mounted, but the engine reads this file for each inspection.
    writeFileSync(join(dirname(layers.UpperDir ?? ''), 'lower'), 'l/MISSING');
    await assert.rejects(damaged.container.inspect(), { statusCode: 500 });
    await discovery.startController();
    await start('healthy');
    await discovery.answersWith(200, 'healthy.test');
    await load.answers(50);
    await discovery.lostNothing(load);
    assert.match(await discovery.command('status'), /could not inspect a container/);
    await damaged.kill('SIGKILL');
    await discovery.answersWith(503, 'damaged.test');
  });

  test('if two apps swap addresses while the controller is down, no visitor reaches the wrong one', async () => {
    const [a, b] = ['10.213.98.1', '10.213.98.2'];
    const before = [await start('first', a), await start('second', b)];
    for (const host of ['first.test', 'second.test']) await discovery.answersWith(200, host);
    using first = discovery.load('first.test', 'first');
    using second = discovery.load('second.test', 'second');
    for (const load of [first, second]) await load.answers(300);
    await discovery.controller?.kill('SIGKILL');
    for (const app of before) await app.remove();
    const after = [await start('first', b), await start('second', a)];
    // Without a controller, requests wait, and what is sent until it is back goes to neither.
    await discovery.startController();
    await Promise.all([first.answeredBy(after[0]?.shortId ?? ''), second.answeredBy(after[1]?.shortId ?? '')]);
    for (const load of [first, second])
      assert.deepEqual(
        (await load.end()).failures.filter(({ what }) => what.includes('answer of')),
        [],
      );
  });

  test('if two apps swapped addresses while the pair was down, no visitor reaches the wrong one', async () => {
    const [a, b] = ['10.213.99.1', '10.213.99.2'];
    const before = [await start('left', a), await start('right', b)];
    for (const host of ['left.test', 'right.test']) await discovery.answersWith(200, host);
    await discovery.controller?.kill();
    await discovery.dataplane?.kill();
    for (const app of before) await app.remove();
    await start('left', b);
    await start('right', a);
    // The controller tries to connect every second, and the data plane waits for it for two seconds before it uses what it has saved.
    await discovery.startController();
    await discovery.startDataplane();
    // This holds from the start, before the controller has confirmed anything.
    using left = discovery.load('left.test', 'left');
    using right = discovery.load('right.test', 'right');
    await left.answers(50);
    await right.answers(50);
    // A container that is new to the data plane is probed first; until then no app responds, and never the wrong one.
    for (const load of [left, right])
      assert.deepEqual(
        (await load.end()).failures.filter(({ what }) => !what.endsWith(' 503')),
        [],
      );
  });
});

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../shared/runtime/testing/until.ts';
import { ask } from '../testing/http.ts';
import { App } from './testing/app.ts';
import type { Discovery } from './testing/discovery.ts';
import type { Engine } from './testing/engine.ts';
import type { Load } from './testing/load.ts';

/** Changes of containers, under load. */
export function changesThatLoseNothing(scene: () => { engine: Engine; discovery: Discovery }): void {
  describe('no request is lost when', { concurrency: 3 }, () => {
    let engine: Engine;
    let discovery: Discovery;
    before(() => {
      ({ engine, discovery } = scene());
    });

    type More = Partial<Parameters<typeof App.start>[1]>;
    const start = (app: string, more: More = {}) =>
      App.start(engine.docker, { app, ...more, labels: { 'sluice.domain': `${app}.test`, ...more.labels } });
    const loadOn = async (app: string, more: { postEvery?: number } = {}): Promise<Load> => {
      await discovery.answersWith(200, `${app}.test`);
      return discovery.load(`${app}.test`, app, more);
    };

    test('a service is scaled from 1 to 3 and back to 1', async () => {
      const first = await start('scaled');
      using load = await loadOn('scaled');
      const [second, third] = [await start('scaled'), await start('scaled')];
      for (const app of [first, second, third]) await load.answeredBy(app.shortId);
      await Promise.all([first.stop(), third.stop()]);
      await load.answers(100);
      await discovery.lostNothing(load);
    });

    test('one of two containers is stopped', async () => {
      const [first, second] = [await start('stopped'), await start('stopped')];
      using load = await loadOn('stopped');
      for (const app of [first, second]) await load.answeredBy(app.shortId);
      await first.stop();
      await load.answers(100);
      await discovery.lostNothing(load);
    });

    test('one of two containers keeps running for a while after TERM: it gets nothing new, and no POST is lost', async () => {
      const [first, second] = [await start('lingers', { env: { ON_TERM: 'ignore' } }), await start('lingers')];
      using load = await loadOn('lingers', { postEvery: 4 });
      for (const app of [first, second]) await load.answeredBy(app.shortId);
      await first.kill('TERM');
      await until('it to get nothing while it still runs', async () => {
        const then = load.by.get(first.shortId);
        await load.answers(40);
        // On a busy machine it takes seconds to answer what it got before.
        await load.settled();
        return load.by.get(first.shortId) === then;
      });
      await first.kill('KILL');
      await load.answers(100);
      await discovery.lostNothing(load);
    });

    test('one of two containers is killed', async () => {
      const [first, second] = [await start('killed'), await start('killed')];
      using load = await loadOn('killed');
      for (const app of [first, second]) await load.answeredBy(app.shortId);
      await first.kill('KILL');
      await load.answers(200);
      await discovery.lostNothing(load);
    });

    test('one of two containers is paused for 2 s, and it returns to rotation', async () => {
      const [first, second] = [await start('paused'), await start('paused')];
      using load = await loadOn('paused');
      for (const app of [first, second]) await load.answeredBy(app.shortId);
      // On a busy machine the engine sometimes can't freeze it at once.
      await until('the engine to pause the container', () => first.container.pause().then(() => true));
      await wait(2_000);
      await first.container.unpause();
      await load.answeredBy(first.shortId);
      await discovery.lostNothing(load);
    });

    test('a failing HEALTHCHECK takes its container out of rotation, and a passing one brings it back', async () => {
      const healthcheck = { intervalMs: 500 };
      const [first, second] = [await start('checked', { healthcheck }), await start('checked', { healthcheck })];
      using load = await loadOn('checked');
      for (const app of [first, second]) await load.answeredBy(app.shortId);
      await postDirectly(first, '/sick');
      await until('the sick one to get nothing', async () => {
        const then = load.by.get(first.shortId);
        await load.answers(40);
        return load.by.get(first.shortId) === then;
      });
      await postDirectly(first, '/well');
      await load.answeredBy(first.shortId);
      await discovery.lostNothing(load);
    });

    test('a container gets a signal that is not its stop signal, which drains nothing', async () => {
      const [first, second] = [await start('signalled'), await start('signalled')];
      using load = await loadOn('signalled', { postEvery: 10 });
      for (const app of [first, second]) await load.answeredBy(app.shortId);
      await first.kill('HUP');
      await load.answers(100);
      await load.answeredBy(first.shortId);
      await discovery.lostNothing(load);
    });

    test('the only container of a site with hold is recreated', async () => {
      const more = { labels: { 'sluice.hold': '30s' } };
      let only = await start('recreated', more);
      using load = await loadOn('recreated');
      for (let round = 0; round < 2; round++) {
        await only.stop();
        await only.remove();
        only = await start('recreated', { ...more, env: { LISTEN_AFTER: '300' } });
        await load.answeredBy(only.shortId);
      }
      await discovery.lostNothing(load);
    });

    test('two replicas are recreated one after another', async () => {
      // They end when they get nothing any more, however long this machine takes to notice that they are going.
      const more = { env: { ON_TERM: '1500' } };
      const replicas = [await start('rolling', more), await start('rolling', more)];
      using load = await loadOn('rolling', { postEvery: 10 });
      for (const app of replicas) await load.answeredBy(app.shortId);
      for (const old of replicas) {
        await old.stop(30);
        await old.remove();
        await load.answeredBy((await start('rolling', more)).shortId);
      }
      await discovery.lostNothing(load);
    });

    test('an address is reassigned to another app, which never responds for the first', async () => {
      // Far from those that the engine gives to the containers of other tests, which would take it as soon as it is free.
      const address = '10.213.97.1';
      const first = await start('first-owner', { address });
      const keeper = await start('first-owner');
      using load = await loadOn('first-owner');
      for (const app of [first, keeper]) await load.answeredBy(app.shortId);
      await first.kill('KILL');
      await first.remove();
      const next = await start('next-owner', { address });
      assert.equal(await next.address(), address);
      await discovery.answersWith(200, 'next-owner.test');
      await load.answers(100);
      await discovery.lostNothing(load);
    });
  });
}

/** Sends a request to a container directly, bypassing the proxy. */
async function postDirectly(app: App, path: string): Promise<void> {
  await ask({ host: await app.address(), port: 80 }, path, { method: 'POST' });
}

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { App } from './testing/app.ts';
import type { Discovery } from './testing/discovery.ts';
import type { Engine } from './testing/engine.ts';

/** What labels of containers do, and what is reported about them. */
export function labelsOfContainers(scene: () => { engine: Engine; discovery: Discovery }): void {
  describe('labels of real containers', { concurrency: 3 }, () => {
    let engine: Engine;
    let discovery: Discovery;
    before(() => {
      ({ engine, discovery } = scene());
    });

    const start = (app: string, labels: Record<string, string>) => App.start(engine.docker, { app, labels, light: true });

    test('containers of one domain form one pool, and if their labels differ, the oldest one’s are used and that is reported', async () => {
      const labels = { 'sluice.domain': 'differ.test' };
      const oldest = await start('differ', { ...labels, 'sluice.header.X-From': 'oldest' });
      const younger = await start('differ', { ...labels, 'sluice.header.X-From': 'younger' });
      const seen = new Set<string>();
      await until('both to answer', async () => {
        const answer = await discovery.visit('differ.test');
        if (answer.status === 200) {
          assert.equal(answer.headers['x-from'], 'oldest');
          seen.add(answer.text.trim().split(' ')[1] ?? '');
        }
        return seen.has(oldest.shortId) && seen.has(younger.shortId);
      });
      await until('the difference to be reported', async () =>
        (await discovery.command('explain', 'differ.test')).includes('sluice.header'),
      );
    });

    test('a bad label affects only its own site, with the reason', async () => {
      const labels = {
        'sluice.domain': 'good.test',
        'sluice.bad.domain': 'bad.test',
        'sluice.bad.rate_limit': 'plenty',
        'sluice.bad.port': '80',
      };
      await start('good', labels);
      await discovery.answersWith(200, 'good.test');
      assert.equal((await discovery.visit('bad.test')).status, 404);
      await until('the error to be reported', async () =>
        (await discovery.command('explain', 'bad.test')).includes('sluice.bad.rate_limit'),
      );
      assert.match(await discovery.command('status'), /sluice\.bad\.rate_limit/);
    });

    test('labels can set several domains and a rate limit', async () => {
      await start('many', { 'sluice.domain': 'one.test, two.test', 'sluice.rate_limit': '5/s' });
      for (const host of ['one.test', 'two.test']) await discovery.answersWith(200, host, { everyMs: 300 });
      const limited = await discovery.answersWith(429, 'one.test');
      assert.equal(limited.headers['retry-after'], '1');
    });

    test('a known domain without a container is answered with 503 and Retry-After, an unknown one with 404', async () => {
      const only = await start('gone', { 'sluice.domain': 'gone.test' });
      await discovery.answersWith(200, 'gone.test');
      await only.remove();
      const answer = await discovery.answersWith(503, 'gone.test');
      assert.ok(Number(answer.headers['retry-after']) > 0);
      assert.equal((await discovery.visit('never.test')).status, 404);
    });

    test('a container created before the pair is served when it starts', async () => {
      const app = await App.create(engine.docker, { app: 'later', labels: { 'sluice.domain': 'later.test' }, light: true });
      assert.equal((await discovery.visit('later.test')).status, 404);
      await app.start();
      await discovery.answersWith(200, 'later.test');
      assert.match(await discovery.command('explain', 'later.test'), new RegExp(app.shortId));
    });

    test('an app that listens immediately is served', async () => {
      await App.start(engine.docker, { app: 'soon', labels: { 'sluice.domain': 'soon.test' }, light: true });
      await discovery.answersWith(200, 'soon.test');
    });

    test('an app that listens late gets no requests before it does', async () => {
      const labels = { 'sluice.domain': 'slow.test' };
      await App.start(engine.docker, { app: 'slow', labels });
      await discovery.answersWith(200, 'slow.test');
      using load = discovery.load('slow.test', 'slow', { postEvery: 10 });
      const late = await App.start(engine.docker, { app: 'slow', labels, env: { LISTEN_AFTER: '1000' } });
      await load.answeredBy(late.shortId);
      await discovery.lostNothing(load);
    });
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App } from './testing/app.ts';
import type { Discovery } from './testing/discovery.ts';
import type { Engine } from './testing/engine.ts';

/** Half of them are never started, but the engine lists them, too. */
const COUNT = 200;
/** How many are started at a time, like `compose up`. */
const AT_ONCE = 8;

/** Starts so many containers in one test. */
export function twoHundredContainers(scene: () => { engine: Engine; discovery: Discovery }): void {
  test('each of 200 containers is served once it is started, and no other container answers for it', async () => {
    const { engine, discovery } = scene();
    const domain = (index: number) => `app${index}.test`;

    const make = (index: number) =>
      App.create(engine.docker, { app: `app${index}`, labels: { 'sluice.domain': domain(index) }, light: true });
    const startOne = async (index: number): Promise<void> => {
      const container = await make(index);
      await container.start();
      const answer = await discovery.answersWith(200, domain(index), { withinMs: 60_000, everyMs: 20 });
      assert.equal(answer.text.trim(), `app${index} ${container.shortId}`);
    };
    let next = 0;
    const lane = async () => {
      for (let index = next++; index < COUNT; index = next++) await (index % 2 === 0 ? startOne(index) : make(index));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));

    const visits = await Promise.all(Array.from({ length: COUNT }, (_, index) => discovery.visit(domain(index))));
    assert.ok(
      visits.every(({ status, text }, index) => (index % 2 === 0 ? text.startsWith(`app${index} `) : status === 404 || status === 503)),
    );
  });
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { App } from './harness/app.ts';
import { Discovery } from './harness/discovery.ts';
import { Engine } from './harness/engine.ts';
import { ownNetwork } from './harness/own-network.ts';

const skip = ownNetwork();
/** Half of them are never started, but the engine lists them, too. */
const COUNT = 200;
const RUNNING = COUNT / 2;
/** How many are started at a time, like `compose up`. */
const AT_ONCE = 8;

test('with 200 containers, each one is served soon after it starts, and only by itself', { skip }, async (t) => {
  await using engine = await Engine.start();
  await using discovery = await Discovery.start(engine);
  const domain = (index: number) => `app${index}.test`;
  const waits: number[] = [];

  const make = (index: number) =>
    App.create(engine.docker, { app: `app${index}`, labels: { 'sluice.domain': domain(index) }, light: true });
  const startOne = async (index: number): Promise<void> => {
    const container = await make(index);
    await container.start();
    const started = performance.now();
    const answer = await discovery.answersWith(200, domain(index), { everyMs: 20 });
    waits.push(performance.now() - started);
    assert.equal(answer.text.trim(), `app${index} ${container.shortId}`);
  };
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < COUNT; index = next++) await (index % 2 === 0 ? startOne(index) : make(index));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));

  waits.sort((a, b) => a - b);
  const [median = 0, worst = 0] = [waits[RUNNING / 2], waits.at(-1)];
  const memory = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${discovery.controller?.pid}/status`, 'utf8'))?.[1]) / 1024;
  t.diagnostic(`from start to served: median ${median.toFixed(0)} ms, worst ${worst.toFixed(0)} ms; controller ${memory.toFixed(0)} MB`);
  assert.ok(worst < 5_000, `the last one was served ${worst} ms after its start`);
  assert.ok(memory < 200, `${memory} MB`);

  const visits = await Promise.all(Array.from({ length: COUNT }, (_, index) => discovery.visit(domain(index))));
  assert.ok(
    visits.every(({ status, text }, index) => (index % 2 === 0 ? text.startsWith(`app${index} `) : status === 404 || status === 503)),
  );
});

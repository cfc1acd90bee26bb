import { readFileSync } from 'node:fs';
import { started } from '../../../controller/sources/docker/testing/docker-source.ts';
import { fakeId } from '../../../controller/sources/docker/testing/fake-container.ts';
import { Folder } from '../../testing/dataplane.ts';
import { childrenOf, Pair } from '../../testing/pair.ts';
import { app, startPairWithEngine } from '../../testing/pair-with-engine.ts';
import { Upstream } from '../../testing/upstream.ts';
import { atMost, type Figure, median } from '../figure.ts';

const ROUNDS = 9;
const CONTAINERS = 200;
/** How many are started concurrently, as by `compose up`. */
const CONCURRENCY = 8;

/**
 * How soon a change is served: a saved file, a container that starts, or 200 that start; and how soon the source reports starts and
 * deaths of containers.
 */
export async function serving(): Promise<Figure[]> {
  return [...(await saved()), ...(await containers()), ...(await events())];
}

async function saved(): Promise<Figure[]> {
  using folder = new Folder();
  const site = (body: string) => `site.test {\n  respond "${body}"\n}\n`;
  await using pair = await Pair.start(folder, site('0'));
  const times: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const start = performance.now();
    pair.write(site(`${round}`));
    while ((await pair.visit('site.test')).text !== `${round}`);
    times.push(performance.now() - start);
  }
  return [atMost('a saved config file served (median)', median(times), 'ms', 500)];
}

async function containers(): Promise<Figure[]> {
  await using upstream = await Upstream.start('app');
  await using pair = await startPairWithEngine();
  const start = async (number: number): Promise<number> => {
    const before = performance.now();
    pair.engine.run(app(number, upstream.port, { 'sluice.domain': `s${number}.test` }));
    await pair.answers(`s${number}.test`, 200);
    return performance.now() - before;
  };
  const single: number[] = [];
  for (let number = 1; number <= ROUNDS; number++) single.push(await start(number));
  const crowd: number[] = [];
  let next = ROUNDS + 1;
  const startNext = async (): Promise<void> => {
    while (next <= ROUNDS + CONTAINERS) crowd.push(await start(next++));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, startNext));
  const status = readFileSync(`/proc/${(await childrenOf(pair.pid)).controller}/status`, 'utf8');
  return [
    atMost('a container that starts served (median)', median(single), 'ms', 500),
    atMost(`${CONTAINERS} containers that start, ${CONCURRENCY} at a time: the last one served`, Math.max(...crowd), 'ms', 5_000),
    atMost('memory of the controller with them', Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024, 'MiB', 200),
  ];
}

async function events(): Promise<Figure[]> {
  const cleanups: (() => Promise<void>)[] = [];
  const { engine, next } = await started({ after: (cleanup) => void cleanups.push(cleanup) });
  const [up, down]: [number[], number[]] = [[], []];
  for (let round = 1; round <= ROUNDS; round++) {
    const begun = performance.now();
    engine.run({ id: fakeId(round), name: `app-${round}`, labels: { 'sluice.domain': 'a.test' } });
    up.push((await next('a.test=healthy')).at - begun);
    const died = performance.now();
    engine.die(fakeId(round));
    down.push((await next('a.test=nowhere')).at - died);
  }
  for (const cleanup of cleanups) await cleanup();
  return [
    atMost('a started container reported by the source (median)', median(up), 'ms', 25),
    atMost('a dead container reported by the source (median)', median(down), 'ms', 25),
  ];
}

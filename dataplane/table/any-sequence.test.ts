import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import type { Frame } from './table.ts';
import { ReferenceModel } from './testing/reference-model.ts';
import { frameOf, routeOf, TemporaryTable } from './testing/temporary-table.ts';

const SEQUENCES = 25;
const STEPS = 80;
const DOMAINS = ['a.test', 'b.test', '*.b.test', 'c.test'] as const;
const CONTROLLERS = { first: ['file', 'lab'], second: ['cluster', 'lab'] } as const;

type Draw = (bound: number) => number;
const pick = <T>(draw: Draw, choices: readonly T[]): T => choices[draw(choices.length)] as T;
const some = <T>(draw: Draw, most: number, make: () => T): T[] => Array.from({ length: draw(most + 1) }, make);

/** Numbers from 0 up to but not including `bound`; the same ones for the same seed. */
function seeded(seed: number): Draw {
  let state = seed;
  return (bound) => {
    // A Lehmer generator modulo the prime 2^31 - 1.
    state = (state * 48_271) % 2_147_483_647;
    return Math.floor((state / 2_147_483_647) * bound);
  };
}

function anyFrame(draw: Draw, { lives }: ReferenceModel): Frame {
  const controller = pick(draw, ['first', 'second'] as const);
  const own: readonly string[] = CONTROLLERS[controller];
  const known = lives.get(controller);
  const current = Number(known?.revision ?? 0);
  const based_on = pick(draw, [null, null, current, current, current + 1]);
  const header = {
    controller,
    epoch: Math.max(1, (known?.epoch ?? 1) + pick(draw, [0, 0, 0, 0, 0, 1, -1])),
    revision: Math.max(0, current + pick(draw, [1, 1, 1, 1, 0, -1])),
    based_on,
    sources: pick(draw, [own, own, own.slice(0, 1), own.slice(1), []]) as string[],
  };
  const route = () => routeOf(pick(draw, DOMAINS), `up:${draw(3) + 1}`, { source: pick(draw, [...own, ...own, 'other', null]) });
  const rejected = some(draw, 1, () => ({ domain: pick(draw, DOMAINS), source: 'file', reason: 'upstream: no' }));
  const removes = based_on === null ? [] : some(draw, 2, () => ({ domain: pick(draw, DOMAINS), source: pick(draw, own) }));
  return frameOf(header, some(draw, 5, route), { rejected, removes });
}

async function apply(frame: Frame, { table }: TemporaryTable, model: ReferenceModel): Promise<string> {
  const { header, routes, rejected, removes } = frame;
  const words = JSON.stringify({
    ...header,
    routes: routes.map((one) => `${one.domain} ${one.upstream} ${one.source}`),
    rejected,
    removes,
  });
  const expected = model.apply(frame);
  const outcome = await table.apply(frame);
  const outcomes =
    'refused' in outcome
      ? null
      : [
          ...outcome.applied.results.map(({ domain, result }) => `${domain} ${result}`),
          ...outcome.applied.removed.map((domain) => `${domain} removed`),
        ].sort();
  assert.deepEqual(outcomes, expected, words);
  return words;
}

/** Performs one operation on both and compares the results. @returns a description of the operation. */
async function step(draw: Draw, fixture: TemporaryTable, model: ReferenceModel): Promise<string> {
  const kind = draw(20);
  if (kind === 0) {
    await fixture.restart();
    for (const { route } of fixture.table.list()) fixture.publisher.served.set(route.domain, JSON.stringify(route));
    return 'restart';
  }
  if (kind > 8) return apply(anyFrame(draw, model), fixture, model);
  const domain = pick(draw, DOMAINS);
  if (kind > 5) {
    assert.equal(await fixture.table.remove(domain), model.remove(domain), `remove ${domain}`);
    return `remove ${domain}`;
  }
  const route = routeOf(domain, `up:${draw(3) + 1}`, { source: pick(draw, [null, 'mine', 'file', 'cluster', 'lab']) });
  model.post(route);
  await fixture.table.post(route);
  return `post ${domain} ${route.upstream} ${route.source}`;
}

function agree({ table, publisher }: TemporaryTable, model: ReferenceModel): void {
  const expected = model.visible();
  const visible = table.list().map(({ route, controller, overrides }) => {
    const beneath = overrides === null ? '' : ` over ${overrides.upstream}`;
    return `${route.domain} ${route.upstream} ${controller ?? 'hand'}${beneath}`;
  });
  assert.deepEqual(visible, expected);
  const served = [...publisher.served].map(([domain, json]) => `${domain} ${(JSON.parse(json) as { upstream: string }).upstream}`);
  assert.deepEqual(served.sort(), expected.map((line) => line.split(' ').slice(0, 2).join(' ')).sort());
  assert.deepEqual(table.counts(), { routes: expected.length, overridden: expected.filter((line) => line.includes(' over ')).length });
}

test('any sequence of posts, removals, frames and restarts ends in the same state as the reference model', async () => {
  for (let sequence = 0; sequence < SEQUENCES; sequence++) {
    const seed = Number(process.env.SEED ?? randomInt(1, 2_147_483_647));
    const draw = seeded(seed);
    const model = new ReferenceModel();
    using fixture = await TemporaryTable.start();
    const done: string[] = [];
    try {
      for (let at = 0; at < STEPS; at++) {
        done.push(await step(draw, fixture, model));
        agree(fixture, model);
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      assert.fail(`SEED=${seed} after ${done.length} steps: ${why}\nThe last successful ones:\n${done.slice(-6).join('\n')}`);
    }
  }
});

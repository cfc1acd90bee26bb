import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Numbers, numbersOf } from '../testing/random-world.ts';
import { keyOf, readVaried, type VariedObject, variedCluster, variedObject } from '../testing/varied-world.ts';
import type { ClusterSnapshot } from './cluster-snapshot.ts';
import { translate } from './translate.ts';

const NOW = '2030-01-02T00:00:00Z';
const CONTEXT = { current: {}, isWritten: true, addresses: [{ kind: 'ip' as const, value: '192.0.2.1' }], refused: new Map(), now: NOW };

/** Everything that a translation decides. The order of the statuses has no meaning. */
function decided(snapshot: ClusterSnapshot) {
  const { routes, certificates, settings, problems, readings, statuses, refusals } = translate(snapshot);
  const built = statuses.map(({ resource, meta, build }) => JSON.stringify([resource.name, meta, build(CONTEXT)])).sort();
  const byText = <T>(list: readonly T[]) => list.map((one) => JSON.stringify(one)).sort();
  return { routes, certificates, settings, problems: byText(problems), readings: byText(readings), built, refusals: byText(refusals) };
}

const FIRST = 20;
const CHANGES = 4;

/** Clusters as they change: objects come and go, and others take their names, at once or later. */
function* changing(numbers: Numbers): Generator<readonly VariedObject[]> {
  const all = new Map<string, VariedObject>();
  const put = (one: VariedObject) => all.set(keyOf(one), one);
  put(variedObject(numbers, [], 'gatewayClasses'));
  for (const kind of ['namespaces', 'services', 'services', 'slices', 'slices', 'secrets', 'authorities'] as const)
    for (let n = 0; n < 3; n++) put(variedObject(numbers, [], kind));
  for (let n = 0; n < FIRST; n++) put(variedObject(numbers, [...all.values()]));
  yield [...all.values()];
  for (let n = 0; n < CHANGES; n++) {
    const objects = [...all.values()].filter(({ kind }) => kind !== 'gatewayClasses');
    if (numbers.isChance(0.3)) all.delete(keyOf(numbers.pick(objects)));
    else put(variedObject(numbers, objects));
    yield [...all.values()];
  }
}

test('what is kept of earlier translations, and the order of the objects, change nothing, however objects come, change and go', () => {
  for (let seed = 0; seed < 40; seed++) {
    const numbers = numbersOf(seed);
    const kept = new Map<VariedObject, ClusterSnapshot>();
    const readOnce = (one: VariedObject): ClusterSnapshot => {
      const known = kept.get(one) ?? readVaried(one);
      kept.set(one, known);
      return known;
    };
    for (const objects of changing(numbers)) {
      const again = decided(variedCluster(objects, readOnce));
      const anew = decided(variedCluster(objects, readVaried));
      assert.deepEqual(again, anew, `seed ${seed}`);
      const shuffled = objects.map((one) => ({ one, at: numbers.below(1_000) })).sort((a, b) => a.at - b.at);
      const inOtherOrder = variedCluster(
        shuffled.map(({ one }) => one),
        readVaried,
      );
      assert.deepEqual(decided(inOtherOrder), anew, `seed ${seed}, in another order`);
      assert.deepEqual(
        translate(inOtherOrder).problems.filter(({ code }) => code === 'bad_route'),
        [],
        `seed ${seed}`,
      );
    }
  }
});

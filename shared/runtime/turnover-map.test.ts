import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { TurnoverMap } from './turnover-map.ts';

test('it holds what a Map holds, in the same order, however often it is replaced', () => {
  const [map, model] = [new TurnoverMap<number, string>(), new Map<number, string>()];
  for (let step = 0; step < 2_000; step++) {
    const key = (step * 7_919) % 97;
    if (step % 3 === 0) assert.equal(map.delete(key), model.delete(key));
    else {
      map.set(key, `${step}`);
      model.set(key, `${step}`);
    }
    assert.equal(map.get(key), model.get(key));
    assert.equal(map.has(key), model.has(key));
    assert.equal(map.size, model.size);
  }
  assert.deepEqual([...map], [...model]);
  assert.deepEqual([[...map.keys()], [...map.values()]], [[...model.keys()], [...model.values()]]);
});

test('entries that are deleted while it is iterated are left out, and those that are added are not reached', () => {
  const map = new TurnoverMap<number, number>();
  for (let key = 0; key < 5; key++) map.set(key, key);
  const seen: number[] = [];
  for (const key of map.keys()) {
    seen.push(key);
    map.delete(3);
    for (let added = 100; added < 300; added++) map.set(added, added);
  }
  assert.deepEqual(seen, [0, 1, 2, 4]);
});

/** Replaces entries after a full collection, and prints how many of the replaced values young collections have freed. */
const CHURN = `
  const { TurnoverMap } = await import(${JSON.stringify(new URL('turnover-map.ts', import.meta.url).href)});
  const map = process.argv[1] === 'Map' ? new Map() : new TurnoverMap();
  let freed = 0;
  const registry = new FinalizationRegistry(() => freed++);
  let added = 0;
  const replace = (times) => {
    for (let one = 0; one < times; one++) {
      const value = { key: added };
      registry.register(value, added);
      map.set(added, value);
      map.delete(added++ - 64);
    }
  };
  replace(1_000);
  for (let turn = 0; turn < 2; turn++) {
    gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  freed = 0;
  for (let round = 0; round < 20; round++) {
    replace(1_000);
    gc({ type: 'minor' });
    await new Promise((resolve) => setImmediate(resolve));
  }
  process.stdout.write(String(freed));
`;
const freedBy = (kind: string): number =>
  Number(spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', CHURN, kind], { encoding: 'utf8' }).stdout);

test('young collections free replaced entries after a full one, unlike those of a Map', () => {
  const [replaced, ofMap] = [freedBy('TurnoverMap'), freedBy('Map')];
  assert.ok(replaced > 18_000, `${replaced} of 20,000`);
  assert.ok(ofMap < 2_000, `${ofMap} of 20,000 with a Map: V8 does not need this any more`);
});

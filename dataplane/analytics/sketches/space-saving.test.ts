import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SpaceSaving } from './space-saving.ts';

describe('the most frequent names', () => {
  it('are returned in descending order, ties by name, and no more than requested', () => {
    const names = new SpaceSaving(8);
    for (const [name, count] of [
      ['b', 2],
      ['c', 5],
      ['a', 2],
      ['d', 1],
    ] as const)
      names.add(name, count);
    names.add('d', 1);
    assert.deepEqual(names.top(3), [
      ['c', 5],
      ['a', 2],
      ['b', 2],
    ]);
    assert.deepEqual(names.top(9).length, 4);
  });

  it('are kept while thousands of rare ones pass, in fixed memory', () => {
    const names = new SpaceSaving(128);
    for (let round = 0; round < 2_000; round++) {
      for (let heavy = 0; heavy < 10; heavy++) names.add(`/heavy/${heavy}`, 10 - heavy + 20);
      names.add(`/light/${round}`, 1);
    }
    assert.deepEqual(
      names.top(10).map(([name]) => name),
      Array.from({ length: 10 }, (_, heavy) => `/heavy/${heavy}`),
    );
    assert.deepEqual(names.top(1), [['/heavy/0', 60_000]], 'a name that was never evicted is counted exactly');
    assert.equal(names.top(10_000).length, 128);
  });

  it('give a new name the lowest count, so that no count is ever too low', () => {
    const names = new SpaceSaving(2);
    names.add('a', 5);
    names.add('b', 3);
    names.add('c', 1);
    assert.deepEqual(names.top(9), [
      ['a', 5],
      ['c', 4],
    ]);
  });

  it('give up the one that has had the lowest count for longest, also if others were added to meanwhile', () => {
    const names = new SpaceSaving(3);
    for (const name of ['a', 'b', 'c']) names.add(name, 1);
    names.add('d', 1);
    names.add('b', 5);
    names.add('e', 1);
    names.add('f', 1);
    assert.deepEqual(names.top(9), [
      ['b', 6],
      ['f', 3],
      ['e', 2],
    ]);
  });

  it('take as long for a new name however many are kept', () => {
    const cpuOf = (capacity: number): number => {
      const names = new SpaceSaving(capacity);
      const before = process.cpuUsage();
      for (let name = 0; name < 100_000; name++) names.add(`/${name}`, 1);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    cpuOf(64);
    const [few, many] = [cpuOf(64), cpuOf(8_192)];
    assert.ok(many < 15 * few, `${many} µs of 8,192 names, ${few} µs of 64`);
  });

  it('are merged by adding their counts', () => {
    const one = new SpaceSaving(8);
    const other = new SpaceSaving(8);
    one.add('a', 1);
    other.add('a', 2);
    other.add('b', 1);
    one.merge(other);
    assert.deepEqual(one.top(9), [
      ['a', 3],
      ['b', 1],
    ]);
  });
});

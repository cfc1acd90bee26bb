import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from './fair-queue.ts';

const CROWD = Array.from({ length: 150 }, (_, nth) => `crowd ${nth}`);

function underTest() {
  const trouble = new Set<string>();
  const queue = new FairQueue<string>(8, trouble);
  const enter = (...keys: readonly string[]) => {
    for (const key of keys) queue.enter(key, key);
  };
  const turns = (count: number) => Array.from({ length: count }, () => queue.next());
  return { trouble, queue, enter, turns };
}

test('in a crowd of unknown keys a newcomer waits at most two turns, whenever it comes', () => {
  for (let served = 0; served < 100; served++) {
    const { enter, turns } = underTest();
    enter(...CROWD);
    turns(served);
    enter('newcomer');
    assert.ok(turns(2).includes('newcomer'), `after ${served} turns`);
  }
});

test('the key that has waited longest in a crowd is served too, however many come later', () => {
  const { enter, turns } = underTest();
  enter(...CROWD.slice(0, 10));
  const served = CROWD.slice(10, 40).flatMap((late) => {
    enter(late);
    return turns(1);
  });
  for (const early of CROWD.slice(0, 10)) assert.ok(served.includes(early), early);
});

test('a few keys are served in order of arrival', () => {
  const { enter, turns } = underTest();
  const few = CROWD.slice(0, 8);
  enter(...few);
  assert.deepEqual(turns(8), few);
});

test('a key with many items is a newcomer once, and then takes turns with all others', () => {
  const { queue, enter, turns } = underTest();
  enter(...CROWD.slice(0, 40));
  for (let nth = 0; nth < 8; nth++) queue.enter('greedy', 'greedy');
  assert.equal(turns(20).filter((key) => key === 'greedy').length, 1);
});

test('every item is served exactly once in any order, and then the queue is empty', () => {
  const { queue, enter, turns } = underTest();
  enter(...CROWD);
  assert.deepEqual(turns(CROWD.length).toSorted(), CROWD.toSorted());
  assert.equal(queue.next(), null);
  assert.equal(queue.size, 0);
});

test('a key that had trouble elsewhere while it waited comes after all others', () => {
  const { trouble, enter, turns } = underTest();
  enter('one', 'two', 'three');
  trouble.add('one');
  assert.deepEqual(turns(3), ['two', 'three', 'one']);
});

test('a dropped key is no longer a newcomer', () => {
  const { queue, enter, turns } = underTest();
  enter(...CROWD, 'gone');
  queue.keep((item) => item !== 'gone');
  assert.equal(queue.size, CROWD.length);
  assert.ok(!turns(CROWD.length + 1).includes('gone'));
});

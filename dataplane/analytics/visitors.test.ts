import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_VISITORS, MAX_VISITORS_TOTAL, Visitors, visitorRoom } from './visitors.ts';

const fill = (visitors: Visitors, from: number, count: number): Visitors => {
  for (let hash = from; hash < from + count; hash++) visitors.add(hash);
  return visitors;
};

describe('visitors', () => {
  it('are counted once however often they return', () => {
    const visitors = fill(fill(new Visitors(visitorRoom()), 0, 2_000), 1_000, 2_000);
    assert.equal(visitors.count, 3_000);
  });

  it('are no longer counted at the limit of a domain', () => {
    assert.equal(fill(new Visitors(visitorRoom()), 0, MAX_VISITORS + 10).count, MAX_VISITORS);
  });

  it('are no longer counted at the limit of all domains together', () => {
    const room = visitorRoom();
    assert.equal(room.left, MAX_VISITORS_TOTAL);
    room.left = 15;
    const one = fill(new Visitors(room), 0, 10);
    const other = fill(new Visitors(room), 0, 10);
    assert.deepEqual([one.count, other.count, room.left], [10, 5, 0]);
  });

  it('are not counted twice when one domain is merged into another, and free their capacity', () => {
    const room = { left: 30 };
    const one = fill(new Visitors(room), 0, 10);
    const other = fill(new Visitors(room), 5, 10);
    one.absorb(other);
    assert.deepEqual([one.count, other.count, room.left], [15, 0, 15]);
  });
});

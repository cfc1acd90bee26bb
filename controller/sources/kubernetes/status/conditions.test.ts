import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conditionsOf, parentsOf, type StatusCondition, type WantedCondition } from './conditions.ts';

const AT = { generation: 2, now: '2026-02-02T00:00:00Z' };
const EARLIER = '2026-01-01T00:00:00Z';

const wanted = (status: WantedCondition['status'], more: Partial<WantedCondition> = {}): WantedCondition => ({
  ...{ type: 'Accepted', status, reason: 'Accepted', message: '' },
  ...more,
});
const standing = (status: WantedCondition['status'], more: Partial<StatusCondition> = {}): StatusCondition => ({
  ...{ ...wanted(status), observedGeneration: 1, lastTransitionTime: EARLIER },
  ...more,
});

test('a condition keeps its time while its status is the same, also if its reason changes', () => {
  const [same] = conditionsOf([standing('True')], [wanted('True', { reason: 'Other', message: 'why' })], AT);
  assert.deepEqual(same, standing('True', { reason: 'Other', message: 'why', observedGeneration: 2 }));
  const [changed] = conditionsOf([standing('True')], [wanted('False')], AT);
  assert.deepEqual([changed?.status, changed?.lastTransitionTime], ['False', AT.now]);
});

test('conditions of other types are left unchanged', () => {
  const others = standing('True', { type: 'example.org/Checked' });
  assert.deepEqual(conditionsOf([others, standing('True')], [wanted('True')], { ...AT, generation: 1 }), [standing('True'), others]);
});

test('a condition that is there only while something is wrong is withdrawn when that has been mended', () => {
  const mended = [standing('True'), standing('True', { type: 'Conflicted' }), standing('True', { type: 'PartiallyInvalid' })];
  assert.deepEqual(conditionsOf(mended, [wanted('True')], { ...AT, generation: 1 }), [standing('True')]);
});

test('the parents of other controllers stay, and ours are exactly those wanted', () => {
  const theirs = { parentRef: { name: 'a' }, controllerName: 'example.org/theirs', conditions: [standing('False')] };
  const ours = { parentRef: { name: 'a', namespace: 'n' }, controllerName: 'ours', conditions: [standing('True')] };
  const gone = { parentRef: { name: 'gone' }, controllerName: 'ours', conditions: [standing('True')] };
  const parents = parentsOf([ours, theirs, gone], 'ours', [{ parentRef: { namespace: 'n', name: 'a' }, conditions: [wanted('True')] }], {
    ...AT,
    generation: 1,
  });
  assert.deepEqual(parents, [theirs, { ...ours, parentRef: { namespace: 'n', name: 'a' } }]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areSame, type Found, lacks, wereSteady } from './found.ts';
import { MISSING } from './trace.ts';

const found = (...entries: [path: string, identity: string, within?: string | null, changedAt?: number][]): Found =>
  new Map(entries.map(([path, identity, within = 'd', changedAt = 0]) => [path, { identity, within, changedAt }]));

test('the same identities are the same, and another set of inputs is not', () => {
  assert.ok(areSame(found(['a', '1']), found(['a', '1'])));
  assert.ok(!areSame(found(['a', '1']), found(['a', '2'])));
  assert.ok(!areSame(found(['a', '1']), found(['a', '1'], ['b', '1'])));
});

test('an input that changed while it was read was not steady; one that is new was if its last change is older', () => {
  assert.ok(wereSteady(found(['a', '1']), found(['a', '1']), 1_000));
  assert.ok(!wereSteady(found(['a', '1']), found(['a', '2']), 1_000));
  assert.ok(wereSteady(found(['a', '1']), found(['a', '1'], ['b', '1', 'd', 900]), 1_000));
  assert.ok(!wereSteady(found(['a', '1']), found(['a', '1'], ['b', '1', 'd', 990]), 1_000));
  assert.ok(wereSteady(found(['a', '1'], ['b', '1']), found(['a', '1']), 1_000), 'an input that is no more was read all the same');
});

test('what is gone from the same directory, or with it, may come back; what another directory lacks does not', () => {
  const before = found(['main', '1'], ['sites/a', '1', 'sites']);
  assert.ok(lacks(found(['main', '1'], ['sites/a', MISSING, 'sites']), before, 'main'));
  assert.ok(lacks(found(['main', '1'], ['sites/a', MISSING, null]), before, 'main'));
  assert.ok(!lacks(found(['main', '2'], ['sites/a', MISSING, 'other']), before, 'main'));
  assert.ok(lacks(found(['main', MISSING, 'other']), before, 'main'));
});

test('what was never there is not waited for', () => {
  assert.ok(!lacks(found(['main', '1'], ['b', MISSING]), found(['main', '1'], ['b', MISSING]), 'main'));
  assert.ok(!lacks(found(['main', '1'], ['b', MISSING]), found(['main', '1']), 'main'));
});

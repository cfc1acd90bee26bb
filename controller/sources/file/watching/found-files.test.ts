import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areSame, type FoundFiles, lacks, wereSteady } from './found-files.ts';
import { MISSING } from './trace.ts';

const found = (...entries: [path: string, identity: string, within?: string | null, changedAt?: number][]): FoundFiles =>
  new Map(entries.map(([path, identity, within = 'd', changedAt = 0]) => [path, { identity, within, changedAt, file: null }]));

test('equal identities are equal, and different inputs are not', () => {
  assert.ok(areSame(found(['a', '1']), found(['a', '1'])));
  assert.ok(!areSame(found(['a', '1']), found(['a', '2'])));
  assert.ok(!areSame(found(['a', '1']), found(['a', '1'], ['b', '1'])));
});

test('an input that changed during the read was not stable; a new one was if its last change is older', () => {
  assert.ok(wereSteady(found(['a', '1']), found(['a', '1']), 1_000));
  assert.ok(!wereSteady(found(['a', '1']), found(['a', '2']), 1_000));
  assert.ok(wereSteady(found(['a', '1']), found(['a', '1'], ['b', '1', 'd', 900]), 1_000));
  assert.ok(!wereSteady(found(['a', '1']), found(['a', '1'], ['b', '1', 'd', 990]), 1_000));
  assert.ok(wereSteady(found(['a', '1'], ['b', '1']), found(['a', '1']), 1_000), 'a deleted input was still read');
});

test('a file deleted from the same directory, or with it, may return; one missing from another directory does not', () => {
  const before = found(['main', '1'], ['sites/a', '1', 'sites']);
  assert.ok(lacks(found(['main', '1'], ['sites/a', MISSING, 'sites']), before, 'main'));
  assert.ok(lacks(found(['main', '1'], ['sites/a', MISSING, null]), before, 'main'));
  assert.ok(!lacks(found(['main', '2'], ['sites/a', MISSING, 'other']), before, 'main'));
  assert.ok(lacks(found(['main', MISSING, 'other']), before, 'main'));
});

test('a file that never existed is not waited for', () => {
  assert.ok(!lacks(found(['main', '1'], ['b', MISSING]), found(['main', '1'], ['b', MISSING]), 'main'));
  assert.ok(!lacks(found(['main', '1'], ['b', MISSING]), found(['main', '1']), 'main'));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ControllerRecord, rewrittenController } from './controllers.ts';

const controller = (id: string, sources: string[]): [string, ControllerRecord] => [
  id,
  { id, epoch: 1, revision: 1, sources, settled: true, lastApplied: 0, confirmed: {}, doubted: [], lost: [], stays: false },
];
const known = new Map([controller('second', ['cluster', 'file']), controller('first', ['file'])]);

test('a post with a tag of the controller that owns the domain replaces its route, even if others use that tag too', () => {
  assert.equal(rewrittenController('file', 'second', known)?.id, 'second');
  assert.equal(rewrittenController('file', 'first', known)?.id, 'first');
});

test('a post with the tag of another controller is manual: no controller takes a domain from another', () => {
  assert.equal(rewrittenController('cluster', 'first', known), undefined);
});

test('a post for an unowned domain belongs to the first controller by name that uses its tag', () => {
  assert.equal(rewrittenController('cluster', null, known)?.id, 'second');
  assert.equal(rewrittenController('file', null, known)?.id, 'first');
});

test('a post without a tag, or with one that no controller uses, is manual', () => {
  assert.equal(rewrittenController(null, 'first', known), undefined);
  assert.equal(rewrittenController('mine', null, known), undefined);
  assert.equal(rewrittenController('file', 'gone', known), undefined);
});

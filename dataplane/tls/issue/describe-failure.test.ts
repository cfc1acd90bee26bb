import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wordsForFailure } from './describe-failure.ts';
import { IssueError } from './failure.ts';

const failed = (message: string, code?: string) => Object.assign(new Error(message), code === undefined ? {} : { code });

test('whatever happens on the way to an authority is nobody’s fault, and says what to do where there is something', () => {
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EPROTO', 'EPIPE', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])
    assert.equal(wordsForFailure(failed('no', code), 'a.test').kind, 'unreachable', code);
  assert.match(wordsForFailure(failed('no', 'SELF_SIGNED_CERT_IN_CHAIN'), 'a.test').message, /--acme-ca-root PATH/);
  assert.match(wordsForFailure(failed('odd', 'EPROTO'), 'a.test').message, /odd/);
});

test('an authority’s own words stand with the name; its limits and its troubles are told apart', () => {
  const { kind, message } = wordsForFailure(failed('the name is on our list'), 'a.test');
  assert.deepEqual([kind, message], ['refused', 'a.test: the name is on our list']);
  assert.equal(wordsForFailure(failed('too many certificates already issued'), 'a.test').kind, 'limited');
  assert.equal(wordsForFailure(failed('Operation is pending or processing'), 'a.test').kind, 'unreachable');
});

test('what has been told already is not told again', () => {
  const known = new IssueError('validation', 'a.test: no');
  assert.equal(wordsForFailure(known, 'b.test'), known);
});

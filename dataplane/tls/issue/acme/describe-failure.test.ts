import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountGoneError, IssueError } from '../issue-error.ts';
import { toAccountError, toIssueError } from './describe-failure.ts';
import { ProblemError } from './problem.ts';

const failed = (message: string, code?: string) => Object.assign(new Error(message), code === undefined ? {} : { code });

test('network failures count as an unreachable authority, with advice if there is any', () => {
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EPROTO', 'EPIPE', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])
    assert.equal(toIssueError(failed('no', code), 'a.test').kind, 'unreachable', code);
  for (const code of ['SELF_SIGNED_CERT_IN_CHAIN', 'CERT_SIGNATURE_FAILURE'])
    assert.match(toIssueError(failed('no', code), 'a.test').message, /--acme-ca-root PATH/);
  for (const code of ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']) assert.match(toIssueError(failed('no', code), 'a.test').message, /clock/);
  assert.match(toIssueError(failed('odd', 'EPROTO'), 'a.test').message, /odd/);
});

test('an authority’s message is prefixed with the name, and rate limits, outages and rejections are distinguished', () => {
  const { kind, message } = toIssueError(failed('the name is on our list'), 'a.test');
  assert.deepEqual([kind, message], ['refused', 'a.test: the name is on our list']);
  assert.equal(toIssueError(failed('too many certificates already issued'), 'a.test').kind, 'limited');
  assert.equal(toIssueError(failed('Operation is pending or processing'), 'a.test').kind, 'unreachable');
});

test('a failure that is already described is not described again', () => {
  const known = new IssueError('validation', 'a.test: no');
  assert.equal(toIssueError(known, 'b.test'), known);
});

test('an authority that was never reached is named, because its address may be wrong', () => {
  const { kind, message } = toAccountError(failed('no', 'ENOTFOUND'), 'https://ca.test/dir');
  assert.equal(kind, 'unreachable');
  assert.equal(message, "the certificate authority at https://ca.test/dir can't be reached: its name cannot be resolved");
});

test('a rejected account names the flag that fixes it', () => {
  const failureFor = (problem: string, detail: string): string =>
    toAccountError(new ProblemError(problem, detail), 'https://ca.test').message;
  assert.match(failureFor('invalidContact', 'contact email has forbidden domain "example.org"'), /forbidden domain.*--acme-email EMAIL$/);
  assert.match(failureFor('unsupportedContact', 'only mailto is supported'), /--acme-email EMAIL$/);
  assert.match(failureFor('externalAccountRequired', 'bind it'), /--acme-eab KID:KEY$/);
  assert.match(failureFor('unauthorized', 'unknown external account'), /--acme-eab KID:KEY /);
  assert.doesNotMatch(failureFor('rateLimited', 'too many accounts'), /--acme/);
});

test('only a deactivated account counts as gone', () => {
  const failureFor = (problem: string, detail: string) => toIssueError(new ProblemError(problem, detail), 'a.test');
  assert.ok(failureFor('unauthorized', 'Account is not valid, has status "deactivated"') instanceof AccountGoneError);
  assert.ok(!(failureFor('unauthorized', 'the account may not issue for this name') instanceof AccountGoneError));
  assert.ok(!(failureFor('malformed', 'the account was deactivated') instanceof AccountGoneError));
});

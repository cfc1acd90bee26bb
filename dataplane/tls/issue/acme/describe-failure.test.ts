import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountGoneError, IssueError } from '../issue-error.ts';
import { toAccountError, toIssueError } from './describe-failure.ts';
import { ProblemError } from './problem.ts';

const failed = (message: string, code?: string) => Object.assign(new Error(message), code === undefined ? {} : { code });

test('whatever happens on the way to an authority is nobody’s fault, and says what to do where there is something', () => {
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EPROTO', 'EPIPE', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])
    assert.equal(toIssueError(failed('no', code), 'a.test').kind, 'unreachable', code);
  assert.match(toIssueError(failed('no', 'SELF_SIGNED_CERT_IN_CHAIN'), 'a.test').message, /--acme-ca-root PATH/);
  for (const code of ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']) assert.match(toIssueError(failed('no', code), 'a.test').message, /clock/);
  assert.match(toIssueError(failed('odd', 'EPROTO'), 'a.test').message, /odd/);
});

test('an authority’s own words stand with the name; its limits and its troubles are told apart', () => {
  const { kind, message } = toIssueError(failed('the name is on our list'), 'a.test');
  assert.deepEqual([kind, message], ['refused', 'a.test: the name is on our list']);
  assert.equal(toIssueError(failed('too many certificates already issued'), 'a.test').kind, 'limited');
  assert.equal(toIssueError(failed('Operation is pending or processing'), 'a.test').kind, 'unreachable');
});

test('what has been told already is not told again', () => {
  const known = new IssueError('validation', 'a.test: no');
  assert.equal(toIssueError(known, 'b.test'), known);
});

test('an authority that was never reached is named: its address may be wrong', () => {
  const { kind, message } = toAccountError(failed('no', 'ENOTFOUND'), 'https://ca.test/dir');
  assert.equal(kind, 'unreachable');
  assert.equal(message, "the certificate authority at https://ca.test/dir can't be reached: its name cannot be resolved");
});

test('what an authority has against an account names the flag that mends it', () => {
  const told = (problem: string, detail: string): string => toAccountError(new ProblemError(problem, detail), 'https://ca.test').message;
  assert.match(told('invalidContact', 'contact email has forbidden domain "example.org"'), /forbidden domain.*--acme-email EMAIL$/);
  assert.match(told('unsupportedContact', 'only mailto is taken'), /--acme-email EMAIL$/);
  assert.match(told('externalAccountRequired', 'bind it'), /--acme-eab KID:KEY$/);
  assert.match(told('unauthorized', 'unknown external account'), /--acme-eab KID:KEY /);
  assert.doesNotMatch(told('rateLimited', 'too many accounts'), /--acme/);
});

test('an account that was deactivated is gone, and no other refusal means that', () => {
  const told = (problem: string, detail: string) => toIssueError(new ProblemError(problem, detail), 'a.test');
  assert.ok(told('unauthorized', 'Account is not valid, has status "deactivated"') instanceof AccountGoneError);
  assert.ok(!(told('unauthorized', 'the account may not issue for this name') instanceof AccountGoneError));
  assert.ok(!(told('malformed', 'the account was deactivated') instanceof AccountGoneError));
});

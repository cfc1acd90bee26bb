import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crashReason } from './crash-reason.ts';

test('a crash is reduced to the line with the error', () => {
  const crash = [
    'node:internal/modules/esm/resolve:271',
    '    throw new ERR_MODULE_NOT_FOUND(',
    '          ^',
    '',
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/opt/x.js'",
    '    at finalizeResolution (node:internal/modules/esm/resolve:271:11)',
    '    at moduleResolve (node:internal/modules/esm/resolve:861:10) {',
    "  code: 'ERR_MODULE_NOT_FOUND',",
    "  url: 'file:///opt/x.js'",
    '}',
    '',
    'Node.js v26.1.0',
    '',
  ].join('\n');
  assert.equal(crashReason(crash), "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/opt/x.js'");
});

test('a native abort is reduced to the assertion, other output to its last three lines', () => {
  const abort =
    '  #  node[4711]: void Stream::On() at ../src/node_http2.cc:1\n  #  Assertion failed: !is_destroyed()\n\n----- Native stack trace -----\n\n 1: 0xb0 node::Abort() [node]\n';
  assert.equal(crashReason(abort), '#  Assertion failed: !is_destroyed()');
  assert.equal(crashReason('one\ntwo\nthree\nfour\n'), 'two | three | four');
  assert.equal(crashReason(''), '');
});

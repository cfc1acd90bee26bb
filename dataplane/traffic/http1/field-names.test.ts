import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIELD, hashName, kindOf, underscoredKind } from './field-names.ts';

const kind = (name: string): number => kindOf(hashName(name), `\r\n${name}:`, 2, 2 + name.length);

test('a known name is found however its letters are cased', () => {
  for (const [name, expected] of [
    ['host', FIELD.host],
    ['HOST', FIELD.host],
    ['Content-Length', FIELD.contentLength],
    ['tRANSFER-eNCODING', FIELD.transferEncoding],
    ['TE', FIELD.te],
    ['X-Forwarded-For', FIELD.forwardedFor],
  ] as const) {
    assert.equal(kind(name), expected, name);
  }
});

test('a name with the hash of a known one is still another name', () => {
  assert.equal(hashName('vkrequest-id'), hashName('x-request-id'));
  assert.equal(kind('x-request-id'), FIELD.requestId);
  assert.equal(kind('vkrequest-id'), FIELD.other);
});

test('a name that only begins or ends like a known one is another name', () => {
  for (const name of ['hos', 'hosts', 'xhost', 'content-length-', '']) assert.equal(kind(name), FIELD.other, name);
});

test('an underscore spelling is known where an upstream could take it for ours or for framing', () => {
  for (const name of ['X_Forwarded_For', 'x-forwarded_proto', 'X_Real_IP', 'Content_Length', 'TRANSFER_ENCODING', 'X_Request_ID']) {
    assert.notEqual(underscoredKind(name), FIELD.other, name);
  }
  for (const name of ['User_Agent', 'Keep_Alive', 'X_Anything', '_', 'Ho_st']) assert.equal(underscoredKind(name), FIELD.other, name);
});

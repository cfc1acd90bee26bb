import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIELD, hashName, kindOf, unlistedKind } from './field-names.ts';

const kind = (name: string): number => kindOf(hashName(name), Buffer.from(`\r\n${name}:`), 2, 2 + name.length);

test('a known name is found in any letter case', () => {
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

test('an unknown name with the hash of a known one stays unknown', () => {
  assert.equal(hashName('vkrequest-id'), hashName('x-request-id'));
  assert.equal(kind('x-request-id'), FIELD.requestId);
  assert.equal(kind('vkrequest-id'), FIELD.other);
});

test('a name that only begins or ends like a known one is another name', () => {
  for (const name of ['hos', 'hosts', 'xhost', 'content-length-', '']) assert.equal(kind(name), FIELD.other, name);
});

test("a spelling that servers fold is recognized if an upstream could read it as a proxy's or a framing field", () => {
  const names = ['X-Forwarded-For', 'X-Real-IP', 'X-Request-ID', 'X-Original-URL', 'X-Forwarded-Prefix', 'Client-Cert', 'Content-Length'];
  for (const name of [...names, 'Transfer-Encoding'])
    for (const fold of "!#$%&'*+.^_`|~") {
      assert.notEqual(unlistedKind(name.replaceAll('-', fold)), FIELD.other, name + fold);
      assert.notEqual(unlistedKind(name.replace('-', fold).toUpperCase()), FIELD.other, name + fold);
    }
  for (const name of ['User_Agent', 'Keep_Alive', 'X_Anything', '_', 'Ho_st', 'X.Forwarded', '__proto__', 'X-HTTP_Method-Override'])
    assert.equal(unlistedKind(name), FIELD.other, name);
});

test('every X-Forwarded field is classified as one that a proxy sets', () => {
  for (const name of ['X-Forwarded-Prefix', 'x-FORWARDED-anything', 'X-Forwarded-Client-Cert'])
    assert.equal(unlistedKind(name), FIELD.vouched);
  for (const name of ['X-Forwarder-For', 'X-Frame-Options', 'X-Forwarded', 'Y-Forwarded-For'])
    assert.equal(unlistedKind(name), FIELD.other, name);
});

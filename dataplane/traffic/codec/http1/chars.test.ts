import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLASS, FIELD_VALUE, HEX, HOST, TARGET, TOKEN } from './chars.ts';

const CLASSES: readonly [name: string, bit: number, members: RegExp][] = [
  ['a token has the tchar of RFC 9110 5.6.2', TOKEN, /[!#$%&'*+\-.^_`|~0-9A-Za-z]/],
  ['a field value has VCHAR, obs-text, space and tab (RFC 9110 5.5)', FIELD_VALUE, /[\t\x20-\x7e\x80-\xff]/],
  ['a target has visible ASCII without the fragment sign', TARGET, /[!"$-~]/],
  ['a host has what a routable name has', HOST, /[0-9A-Za-z\-._]/],
  ['a hexadecimal digit is one of 22', HEX, /[0-9a-fA-F]/],
];

for (const [name, bit, members] of CLASSES) {
  test(name, () => {
    for (let byte = 0; byte < 256; byte++) {
      assert.equal(((CLASS[byte] as number) & bit) !== 0, members.test(String.fromCharCode(byte)), `byte ${byte}`);
    }
  });
}

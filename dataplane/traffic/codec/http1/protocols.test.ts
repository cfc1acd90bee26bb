import assert from 'node:assert/strict';
import { test } from 'node:test';
import { protocolsIn } from './protocols.ts';

test('reads the protocols of an Upgrade field as written, with or without a version (RFC 9110 7.8)', () => {
  assert.deepEqual(protocolsIn('websocket'), ['websocket']);
  assert.deepEqual(protocolsIn('HTTP/2.0, SHTTP/1.3,\tIRC/6.9 , RTA/x11'), ['HTTP/2.0', 'SHTTP/1.3', 'IRC/6.9', 'RTA/x11']);
  assert.deepEqual(protocolsIn(', a,, b ,'), ['a', 'b'], 'empty elements are ignored (RFC 9110 5.6.1.2)');
  assert.deepEqual(protocolsIn("!#$%&'*+-.^_`|~/$&$`$'$$"), ["!#$%&'*+-.^_`|~/$&$`$'$$"], 'all of these are token characters');
  assert.deepEqual(protocolsIn(''), []);
});

test('anything else is not a list of protocols', () => {
  const others = ['a b', 'a/', '/a', 'a/b/c', 'a;b', 'a: b', 'x$&Host: b', '"a"', 'a\xa0', '\xa0a', '\xb5', 'a, b c', '(a)', 'a=b'];
  for (const text of others) assert.equal(protocolsIn(text), null, text);
});

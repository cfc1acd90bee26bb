import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { decode, encode } from 'dns-packet';
import { sign, type TsigKey, verify } from './tsig.ts';
import { parseTsigKey } from './tsig-key.ts';

const KEY: TsigKey = { name: 'key.test', algorithm: 'hmac-sha256', secret: Buffer.from('secret') };
const NOW = 1_700_000_000;
const query = encode({ type: 'query', id: 4_711, questions: [{ type: 'SOA', name: 'example.com' }] });

/** A response signed as RFC 8945 5.3.1 requires, including the MAC of the request. */
function answered(asked: Buffer, key = KEY, seconds = NOW): Buffer {
  const plain = encode({ type: 'response', id: 4_711, answers: [{ type: 'TXT', name: 'example.com', data: 'x' }] });
  // The signature of the plain message is replaced with one that also covers the request.
  const { message, mac } = sign(plain, key, seconds);
  const fields = Buffer.alloc(8);
  fields.writeUIntBE(seconds, 0, 6);
  fields.writeUInt16BE(300, 6);
  const name = Buffer.from('\x03key\x04test\x00', 'latin1');
  const algorithm = Buffer.from('\x0bhmac-sha256\x00', 'latin1');
  const length = Buffer.alloc(2);
  length.writeUInt16BE(asked.length);
  const right = createHmac('sha256', key.secret)
    .update(Buffer.concat([length, asked, plain, name, Buffer.from([0, 255, 0, 0, 0, 0]), algorithm, fields, Buffer.alloc(4)]))
    .digest();
  right.copy(message, message.indexOf(mac));
  return message;
}

test('signing adds one record and changes nothing else', () => {
  const { message } = sign(query, KEY, NOW);
  const read = decode(message);
  assert.equal(read.id, 4_711);
  assert.deepEqual(
    read.additionals?.map(({ name, type }) => [name, type]),
    [['key.test', 'TSIG']],
  );
  assert.deepEqual(message.subarray(12, query.length), query.subarray(12));
});

test('a response is accepted if it is signed with the same key, for this request and recently', () => {
  const { mac } = sign(query, KEY, NOW);
  assert.equal(verify(answered(mac), KEY, mac, NOW), 'good');
  assert.equal(verify(answered(mac), { ...KEY, secret: Buffer.from('other') }, mac, NOW), 'bad');
  assert.equal(verify(answered(Buffer.alloc(32)), KEY, mac, NOW), 'bad', 'the answer to another question');
  assert.equal(verify(answered(mac), KEY, mac, NOW + 301), 'bad');
  const changed = answered(mac);
  changed[changed.indexOf('x', 20)] = 0x79;
  assert.equal(verify(changed, KEY, mac, NOW), 'bad');
  assert.equal(verify(encode({ type: 'response', id: 4_711 }), KEY, mac, NOW), 'unsigned');
});

test('a truncated response is always an error', () => {
  const { mac } = sign(query, KEY, NOW);
  const whole = answered(mac);
  for (let length = 12; length < whole.length; length++) {
    let verdict = 'an error';
    try {
      verdict = verify(whole.subarray(0, length), KEY, mac, NOW);
    } catch (error) {
      assert.ok(error instanceof RangeError, String(error));
    }
    assert.notEqual(verdict, 'good', `${length} bytes`);
  }
});

test('a key is read as tsig-keygen prints it', () => {
  const key = parseTsigKey('key "Key.Test." {\n\talgorithm hmac-sha512;\n\tsecret "c2VjcmV0";\n};\n');
  assert.deepEqual(key, { ok: true, value: { name: 'key.test', algorithm: 'hmac-sha512', secret: Buffer.from('secret') } });
  for (const [text, words] of [
    ['', /tsig-keygen/],
    ['key "a" { algorithm hmac-sha256; };', /tsig-keygen/],
    ['key "a" { algorithm hmac-md5; secret "c2Vj"; };', /hmac-md5/],
  ] as const) {
    const refused = parseTsigKey(text);
    assert.match(refused.ok ? '' : refused.reason, words);
  }
});

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { readKeys } from './keys.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = { ...ec.publicKey.export({ format: 'jwk' }), kid: 'a', alg: 'ES256' };
const spki = ec.publicKey.export({ type: 'spki', format: 'pem' }) as string;
const set = (...keys: object[]): string => JSON.stringify({ keys });

test('reads the public keys of a JWKS and of PEM, and leaves out the keys of a set that are for something else', () => {
  assert.deepEqual(readKeys(set(jwk, { ...jwk, kid: 'b', use: 'enc' }, { kty: 'OKP', crv: 'X25519', x: 'AA' }, { kty: 'new' })), {
    ok: true,
    value: [{ pem: spki, kid: 'a', alg: 'ES256' }],
  });
  const pkcs1 = rsa.publicKey.export({ type: 'pkcs1', format: 'pem' }) as string;
  const both = readKeys(`${spki}\n${pkcs1}`);
  assert.ok(both.ok);
  assert.deepEqual(both.value, [{ pem: spki }, { pem: rsa.publicKey.export({ type: 'spki', format: 'pem' }) }]);
});

const small = generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey;
for (const [name, text, reason] of [
  ['a private JWK', set(ec.privateKey.export({ format: 'jwk' })), /private key/],
  ['a private key in PEM', ec.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, /private key/],
  ['a shared secret', set(jwk, { kty: 'oct', k: 'c2VjcmV0' }), /shared secret/],
  ['two keys with one kid', set(jwk, jwk), /same kid/],
  ['a short RSA key', small.export({ type: 'spki', format: 'pem' }) as string, /2048/],
  ['a key for another algorithm', set({ ...jwk, alg: 'RS256' }), /no key that can verify/],
  ['HMAC with a public key', set({ ...jwk, alg: 'HS256' }), /no key that can verify/],
  ['an empty set', set(), /no key/],
  ['more keys without kid than may be tried', spki.repeat(5), /at most 4 keys/],
  ['text', 'keys', /no key/],
  ['broken JSON', '{"keys":', /neither PEM nor a JWKS/],
] as const)
  test(`rejects ${name}`, () => {
    const keys = readKeys(text);
    assert.ok(!keys.ok);
    assert.match(keys.reason, reason);
  });

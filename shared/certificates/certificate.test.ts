import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { readCertificate } from './certificate.ts';
import { covers, namesOf } from './certificate-names.ts';
import { ED25519, makeChain, makePair, P256, P384, P521, rsa } from './testing/pairs.ts';

const reasonOf = (chain: string, key: string): string => {
  const read = readCertificate(chain, key);
  return read.ok ? assert.fail('it was taken') : read.reason;
};

test('names, issuer, serial and times are read from the leaf, whichever kind of key it has', async () => {
  const notBefore = Date.UTC(2026, 0, 2, 3, 4, 5);
  for (const algorithm of [P256, P384, ED25519, rsa(2_048)]) {
    const names = ['A.test', '*.a.test', '192.0.2.1', '2001:db8::1'];
    const { middle, leaf } = await makeChain(names, { algorithm, notBefore, notAfter: notBefore + 1_000_000 });
    const read = readCertificate(leaf.certificate + middle.certificate, leaf.privateKey);
    assert.ok(read.ok, read.ok ? '' : read.reason);
    assert.deepEqual(read.value.domains, ['a.test', '*.a.test', '192.0.2.1', '2001:db8::1']);
    assert.equal(read.value.issuer, 'E7 (Example Trust)');
    assert.match(read.value.serial, /^[0-9a-f]+$/);
    assert.deepEqual([read.value.notBefore, read.value.notAfter], [notBefore, notBefore + 1_000_000]);
  }
});

test('a chain in any order, with words around it and twice in it, is put in order', async () => {
  const { root, middle, leaf } = await makeChain(['a.test']);
  const right = leaf.certificate + middle.certificate + root.certificate;
  for (const chain of [
    right,
    root.certificate + middle.certificate + leaf.certificate,
    middle.certificate + root.certificate + leaf.certificate,
    `subject: a.test\r\n${right.replaceAll('\n', '\r\n')}${leaf.certificate}`,
    leaf.privateKey + right,
  ]) {
    const read = readCertificate(chain, `Bag Attributes\n${leaf.privateKey}`);
    assert.ok(read.ok, read.ok ? '' : read.reason);
    assert.equal(read.value.chain, right);
  }
});

test('a locked key in either form, a torn one and the wrong one are refused without a word of the key', async () => {
  const one = await makePair(['a.test']);
  const other = await makePair(['a.test']);
  assert.match(reasonOf(one.certificate, other.privateKey), /^private_key: the key belongs to another certificate than certificate; give/);
  const key = createPrivateKey(one.privateKey);
  for (const type of ['pkcs8', 'sec1'] as const) {
    const locked = key.export({ type, format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' }).toString();
    assert.match(reasonOf(one.certificate, locked), /^private_key: the private key is encrypted; .*openssl pkey/);
  }
  assert.match(reasonOf(one.certificate, one.certificate), /^private_key: there is no private key in it/);
  assert.match(reasonOf(one.certificate, one.privateKey.slice(0, 90)), /^private_key: part 1 \(PRIVATE KEY\) was cut off/);
  const damaged = reasonOf(one.certificate, one.privateKey.replace(/\n..../, '\nAAAA'));
  assert.match(damaged, /^private_key: the private key is damaged/);
  assert.doesNotMatch(damaged, /AAAA|\n/);
});

test('a key in the older form, after its parameters, is taken', async () => {
  const { certificate, privateKey } = await makePair(['a.test']);
  const sec1 = createPrivateKey(privateKey).export({ type: 'sec1', format: 'pem' }).toString();
  const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
  assert.ok(readCertificate(certificate, parameters + sec1).ok);
});

test('keys that no browser takes are refused with those that are', async () => {
  const weak = await makePair(['a.test'], { algorithm: rsa(1_024) });
  assert.match(reasonOf(weak.certificate, weak.privateKey), /^private_key: an RSA key of 1024 bits is too weak \(expected RSA of 2,048/);
  const odd = await makePair(['a.test'], { algorithm: P521 });
  assert.match(reasonOf(odd.certificate, odd.privateKey), /keys on the curve secp521r1/);
  const ed448 = generateKeyPairSync('ed448').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  assert.match(reasonOf(odd.certificate, ed448), /no ed448 keys/);
});

test('a certificate that is cut off, nameless, not for servers, or an authority’s is refused, each in its words', async () => {
  const { certificate, privateKey } = await makePair(['a.test']);
  assert.match(reasonOf(certificate.slice(0, 200), privateKey), /^certificate: part 1 \(CERTIFICATE\) was cut off/);
  assert.match(reasonOf(certificate.slice(0, 200) + certificate, privateKey), /^certificate: part 1 \(CERTIFICATE\) was cut off/);
  const nameless = await makePair([]);
  assert.match(reasonOf(nameless.certificate, nameless.privateKey), /^certificate: .* is for no name/);
  const client = await makePair(['a.test'], { usages: ['1.3.6.1.5.5.7.3.2'] });
  assert.match(reasonOf(client.certificate, client.privateKey), /^certificate: .* is not for servers/);
  const { middle, leaf } = await makeChain(['a.test']);
  assert.match(reasonOf(leaf.certificate + middle.certificate, middle.privateKey), /belongs to an authority of the chain/);
});

test('a refusal names the files where it was files', async () => {
  const { certificate, privateKey } = await makePair(['a.test']);
  const places = { certificate: '/c/cert.pem', privateKey: '/c/key.pem' };
  const read = readCertificate(certificate, certificate, places);
  assert.match(read.ok ? '' : read.reason, /^\/c\/key\.pem: /);
  const other = readCertificate('', privateKey, places);
  assert.match(other.ok ? '' : other.reason, /^\/c\/cert\.pem: /);
});

test('a name that hides others in quotes names nobody', () => {
  assert.deepEqual(namesOf('DNS:a.test, DNS:"evil.test\\u002c DNS:bank.test", DNS:b.test'), ['a.test', 'b.test']);
  assert.deepEqual(namesOf('email:x@a.test, URI:http://a.test/, DNS:b.test'), ['b.test']);
  assert.deepEqual(namesOf(undefined), []);
});

test('a wildcard stands for exactly one label', () => {
  const names = ['*.a.test', 'b.test'];
  assert.deepEqual(
    ['x.a.test', 'a.test', 'x.y.a.test', 'b.test', 'x.b.test', '*.a.test'].map((name) => covers(names, name)),
    [true, false, false, true, false, true],
  );
});

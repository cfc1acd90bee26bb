import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { createSecureContext } from 'node:tls';
import { readCertificate } from './certificate.ts';
import { covers, namesOf } from './certificate-names.ts';
import { ED25519, makeChain, makePair, P256, P384, P521, rsa } from './testing/pairs.ts';

const reasonOf = (chain: string, key: string): string => {
  const read = readCertificate(chain, key);
  return read.ok ? assert.fail('it was accepted') : read.reason;
};

test('reads names, issuer, serial and times from the leaf, for every kind of key', async () => {
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

test('sorts a chain with other text around it and duplicates in it', async () => {
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

test('refuses a chain with an authority whose key is too weak for the library, and leaves out a root like that', async () => {
  const root = await makePair([], { subject: 'CN=Old Root', authority: true, algorithm: rsa(1_024) });
  const weak = await makePair([], { subject: 'CN=Old,O=Example Trust', authority: true, signer: root.signs, algorithm: rsa(1_024) });
  const middle = await makePair([], { subject: 'CN=E7', authority: true, signer: root.signs });
  const below = (signer: typeof root) => makePair(['a.test'], { signer: signer.signs });
  for (const [authorities, used] of [
    [[root], []],
    [[root, middle], [middle]],
  ] as const) {
    const leaf = await below(authorities.at(-1) ?? root);
    const read = readCertificate(leaf.certificate + authorities.map((one) => one.certificate).join(''), leaf.privateKey);
    assert.ok(read.ok, read.ok ? '' : read.reason);
    assert.equal(read.value.chain, leaf.certificate + used.map((one) => one.certificate).join(''));
    createSecureContext({ cert: read.value.chain, key: read.value.privateKey });
  }
  const leaf = await below(weak);
  assert.equal(
    reasonOf(leaf.certificate + weak.certificate + root.certificate, leaf.privateKey),
    'certificate: the key of an authority in the chain is too weak (CN=Old, O=Example Trust); have the certificate issued by another one',
  );
});

test('reads certificates of files that were joined without a line break, or that begin with a byte order mark', async () => {
  const { middle, leaf } = await makeChain(['a.test']);
  const right = leaf.certificate + middle.certificate;
  for (const chain of [leaf.certificate.trimEnd() + middle.certificate, `\ufeff${leaf.certificate}\ufeff${middle.certificate}`]) {
    const read = readCertificate(chain, `\ufeff${leaf.privateKey}`);
    assert.ok(read.ok, read.ok ? '' : read.reason);
    assert.equal(read.value.chain, right);
  }
});

test('rejects an encrypted, a damaged and a wrong key without quoting the key', async () => {
  const one = await makePair(['a.test']);
  const other = await makePair(['a.test']);
  assert.match(reasonOf(one.certificate, other.privateKey), /^private_key: the key does not belong to the certificate in certificate; use/);
  const key = createPrivateKey(one.privateKey);
  for (const type of ['pkcs8', 'sec1'] as const) {
    const locked = key.export({ type, format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' }).toString();
    assert.match(reasonOf(one.certificate, locked), /^private_key: the private key is encrypted; .*openssl pkey/);
  }
  assert.match(reasonOf(one.certificate, one.certificate), /^private_key: it contains no private key/);
  assert.match(reasonOf(one.certificate, one.privateKey.slice(0, 90)), /^private_key: part 1 \(PRIVATE KEY\) was cut off/);
  const damaged = reasonOf(one.certificate, one.privateKey.replace(/\n..../, '\nAAAA'));
  assert.match(damaged, /^private_key: the private key is damaged/);
  assert.doesNotMatch(damaged, /AAAA|\n/);
});

test('says how files in other formats are converted to PEM', async () => {
  const { certificate, privateKey } = await makePair(['a.test']);
  const der = (type: 'pkcs8' | 'sec1') => createPrivateKey(privateKey).export({ type, format: 'der' }).toString();
  const binary = new X509Certificate(certificate).raw.toString();
  for (const type of ['pkcs8', 'sec1'] as const)
    assert.match(
      reasonOf(certificate, der(type)),
      /^private_key: it contains no private key in PEM .*openssl pkcs12 .*openssl pkey -inform der/,
    );
  assert.match(reasonOf(binary, privateKey), /^certificate: it contains no certificate in PEM .*openssl pkcs12 .*openssl x509 -inform der/);
  const bundle = certificate.replaceAll('CERTIFICATE', 'PKCS7');
  assert.match(reasonOf(bundle, privateKey), /^certificate: it contains no certificate .*openssl pkcs7 -print_certs/);
});

test('accepts a key in the older form with its parameters before it', async () => {
  const { certificate, privateKey } = await makePair(['a.test']);
  const sec1 = createPrivateKey(privateKey).export({ type: 'sec1', format: 'pem' }).toString();
  const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
  assert.ok(readCertificate(certificate, parameters + sec1).ok);
});

test('rejects keys that browsers do not accept, and lists those that they do', async () => {
  const weak = await makePair(['a.test'], { algorithm: rsa(1_024) });
  assert.match(reasonOf(weak.certificate, weak.privateKey), /^private_key: an RSA key of 1024 bits is too weak \(expected RSA of 2,048/);
  const odd = await makePair(['a.test'], { algorithm: P521 });
  assert.match(reasonOf(odd.certificate, odd.privateKey), /keys on the curve secp521r1/);
  const ed448 = generateKeyPairSync('ed448').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  assert.match(reasonOf(odd.certificate, ed448), /ed448 keys are not supported/);
});

test('rejects a certificate that is truncated, has no name, is not for servers or belongs to an authority, each with its own reason', async () => {
  const { certificate, privateKey } = await makePair(['a.test']);
  assert.match(reasonOf(certificate.slice(0, 200), privateKey), /^certificate: part 1 \(CERTIFICATE\) was cut off/);
  assert.match(reasonOf(certificate.slice(0, 200) + certificate, privateKey), /^certificate: part 1 \(CERTIFICATE\) was cut off/);
  const nameless = await makePair([]);
  assert.match(reasonOf(nameless.certificate, nameless.privateKey), /^certificate: .* covers no names/);
  const client = await makePair(['a.test'], { usages: ['1.3.6.1.5.5.7.3.2'] });
  assert.match(reasonOf(client.certificate, client.privateKey), /^certificate: .* is not for servers/);
  const { middle, leaf } = await makeChain(['a.test']);
  assert.match(reasonOf(leaf.certificate + middle.certificate, middle.privateKey), /belongs to an authority of the chain/);
});

test('names the files in the reason', async () => {
  const { certificate, privateKey } = await makePair(['a.test']);
  const places = { certificate: '/c/cert.pem', privateKey: '/c/key.pem' };
  const read = readCertificate(certificate, certificate, { places });
  assert.match(read.ok ? '' : read.reason, /^\/c\/key\.pem: /);
  const other = readCertificate('', privateKey, { places });
  assert.match(other.ok ? '' : other.reason, /^\/c\/cert\.pem: /);
});

test('ignores a quoted name that hides others', () => {
  assert.deepEqual(namesOf('DNS:a.test, DNS:"evil.test\\u002c DNS:bank.test", DNS:b.test'), ['a.test', 'b.test']);
  assert.deepEqual(namesOf('email:x@a.test, URI:http://a.test/, DNS:b.test'), ['b.test']);
  assert.deepEqual(namesOf(undefined), []);
});

test('a wildcard covers exactly one label', () => {
  const names = ['*.a.test', 'b.test'];
  assert.deepEqual(
    ['x.a.test', 'a.test', 'x.y.a.test', 'b.test', 'x.b.test', '*.a.test'].map((name) => covers(names, name)),
    [true, false, false, true, false, true],
  );
});

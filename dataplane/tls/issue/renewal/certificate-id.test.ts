import 'reflect-metadata';
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { test } from 'node:test';
import * as x509 from '@peculiar/x509';
import { makeChain, P256 } from '../../../../shared/certificates/testing/pairs.ts';
import { certificateId } from './certificate-id.ts';

/** A certificate with this serial number and key identifier (hexadecimal); '': with none. */
async function certificateWith(serialNumber: string, keyId: string): Promise<string> {
  const keys = (await webcrypto.subtle.generateKey(P256, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const extensions = [
    new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'a.test' }]),
    ...(keyId === '' ? [] : [new x509.AuthorityKeyIdentifierExtension(keyId)]),
  ];
  const made = await x509.X509CertificateGenerator.createSelfSigned({ serialNumber, keys, signingAlgorithm: P256, extensions });
  return made.toString('pem');
}

test('the CertID consists of the issuer’s key identifier and the serial number (RFC 9773 4.1)', async () => {
  const pem = await certificateWith('0087654321', '69885b6b87464041e1b37b847ba0ae2cde01c8d4');
  assert.equal(certificateId(pem), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
});

test('the first certificate of a chain is used', async () => {
  const { leaf, middle } = await makeChain(['a.test']);
  assert.match(certificateId(leaf.certificate) ?? '', /^[\w-]{27}\.[\w-]+$/);
  assert.equal(certificateId(`${leaf.certificate}${middle.certificate}`), certificateId(leaf.certificate));
  assert.notEqual(certificateId(middle.certificate), certificateId(leaf.certificate));
});

test('a certificate without an authority key identifier has no CertID, and neither has malformed input', async () => {
  assert.equal(certificateId(await certificateWith('01', '')), null);
  assert.equal(certificateId('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'), null);
  assert.equal(certificateId(''), null);
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, describe, test } from 'node:test';
import { CertificatesFixture } from '../traffic/testing/certificates-fixture.ts';
import { readCertificate } from './certificate.ts';

const authority = new CertificatesFixture();
after(() => authority[Symbol.dispose]());
const pair = authority.issue('A.test', '*.b.test', '192.0.2.1');
const other = authority.issue('other.test');

const reasonOf = (chain: string, key: string): string => {
  const read = readCertificate(chain, key);
  return read.ok ? assert.fail('it was taken') : read.reason;
};

describe('a certificate', () => {
  test('is read with its names, its times and who signed it', () => {
    const read = readCertificate(pair.cert, pair.key);
    if (!read.ok) assert.fail(read.reason);
    const { domains, issuer, serial, notBefore, notAfter } = read.value;
    assert.deepEqual([domains, issuer], [['a.test', '*.b.test', '192.0.2.1'], 'test authority']);
    assert.match(serial, /^[0-9a-f]+$/);
    assert.ok(notAfter - notBefore > 86_400_000 && notBefore <= Date.now());
  });

  test('whose chain stands in the wrong order is put right, and what does not belong to it left out', () => {
    const read = readCertificate(authority.ca + other.cert + pair.cert, pair.key);
    if (!read.ok) assert.fail(read.reason);
    assert.equal(read.value.chain.replaceAll(/\s/g, ''), (pair.cert + authority.ca).replaceAll(/\s/g, ''));
  });

  test('and its key may stand in one file', () => {
    const both = pair.key + pair.cert;
    assert.equal(readCertificate(both, both).ok, true);
  });

  test('that can not be used says why', () => {
    const encrypted = execFileSync('openssl', ['pkey', '-aes256', '-passout', 'pass:x'], { input: pair.key, encoding: 'utf8' });
    assert.match(reasonOf(pair.cert, other.key), /another certificate/);
    assert.match(reasonOf(pair.cert, encrypted), /encrypted/);
    assert.match(reasonOf(pair.cert, ''), /no private key/);
    assert.match(reasonOf('', pair.key), /no certificate/);
    assert.match(reasonOf(pair.cert.slice(0, 200), pair.key), /no certificate/);
    assert.match(reasonOf(pair.cert.replace(/\n.{10}/, '\nAAAAAAAAAA'), pair.key), /damaged/);
    assert.match(reasonOf(pair.cert, pair.key.replace(/\n.{10}/, '\nAAAAAAAAAA')), /damaged/);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  expiryWarnings,
  missingWarnings,
  type ServedCertificate,
  uncertifiableWarnings,
  unusableWarnings,
} from './certificate-warnings.ts';
import type { CertificateSource } from './store/cert-store.ts';

const DAY = 86_400_000;
const shown = (name: string, source: CertificateSource, lastError: string | null = null): ServedCertificate => ({
  name,
  lastError,
  certificate: {
    ...{ id: `${source}/${name}`, source, domains: [name], issuer: 'CA', serial: '01', savedAt: 0, order: null, ariId: null },
    ...{ notBefore: 0, notAfter: 100 * DAY },
  },
});

test('a certificate whose renewal fails is told of once a fifth of its life is left', () => {
  const failing = [shown('a.test', 'acme', 'a.test: refused')];
  assert.deepEqual(expiryWarnings(failing, 80 * DAY), []);
  assert.deepEqual(expiryWarnings(failing, 81 * DAY), [
    'the certificate of a.test ends at 1970-04-11T00:00:00.000Z; its renewal fails: a.test: refused',
  ]);
  assert.match(expiryWarnings(failing, 101 * DAY)[0] ?? '', /a\.test ended at/);
});

test('one that is renewed in good time, or by itself, is not told of', () => {
  assert.deepEqual(expiryWarnings([shown('a.test', 'acme'), shown('b.test', 'internal')], 99 * DAY), []);
});

test('one that is over though its orders succeed is told of, with what is likely wrong', () => {
  assert.match(expiryWarnings([shown('a.test', 'acme')], 101 * DAY)[0] ?? '', /a\.test ended at .*; check the clock of this machine$/);
});

test('a site without a certificate is told of with the reason, of many the first few', () => {
  const missing = Array.from({ length: 7 }, (_, at) => ({ name: `site-${at}.test`, lastError: `site-${at}.test: nobody answers` }));
  assert.deepEqual(missingWarnings([]), []);
  const lines = missingWarnings(missing);
  assert.equal(lines[0], 'site-0.test has no certificate: nobody answers');
  assert.deepEqual([lines.length, lines.at(-1)], [6, '2 more sites have no certificate']);
});

test('one that nobody renews is told of, with what to do', () => {
  assert.match(expiryWarnings([shown('a.test', 'pushed')], 90 * DAY)[0] ?? '', /brought by hand \(pushed\): bring a newer one$/);
  const { certificate, ...applied } = shown('a.test', 'applied');
  const owner = { controller: 'one', source: 'file' };
  const [line] = expiryWarnings([{ ...applied, certificate: { ...certificate, owner } }], 90 * DAY);
  assert.match(line ?? '', /controller "one" applied it: put a newer one into its source$/);
});

test('of many the first few are told', () => {
  const many = Array.from({ length: 12 }, (_, at) => shown(`site-${at}.test`, 'file'));
  const lines = expiryWarnings(many, 90 * DAY);
  assert.equal(lines.length, 6);
  assert.equal(lines.at(-1), '7 more certificates end soon');
});

test('sites that stay on HTTP for lack of a certificate are told of with what to do, of many the first few', () => {
  const sites = Array.from({ length: 6 }, (_, at) => ({
    name: `nas-${at}.internal`,
    reason: 'no public authority issues for names under internal',
  }));
  assert.deepEqual(uncertifiableWarnings([]), []);
  const lines = uncertifiableWarnings(sites);
  assert.equal(
    lines[0],
    'nas-0.internal stays on HTTP: no public authority issues for names under internal; bring a certificate, write "tls internal", or "tls off" where HTTP is meant',
  );
  assert.deepEqual([lines.length, lines.at(-1)], [6, '1 more sites stay on HTTP']);
});

test('files that were to be certificates and can not be used are told of', () => {
  assert.deepEqual(unusableWarnings([{ id: 'a', source: 'file', reason: '/certs/a/key.pem: the key belongs to another certificate' }]), [
    "a certificate can't be used: /certs/a/key.pem: the key belongs to another certificate",
  ]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  expiryTrouble,
  expiryWarnings,
  impossibleTrouble,
  missingTrouble,
  missingWarnings,
  type ServedCertificate,
  uncertifiableWarnings,
  unusableTrouble,
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

test('a certificate whose renewal fails is reported once a fifth of its lifetime is left', () => {
  const failing = [shown('a.test', 'acme', 'a.test: refused')];
  assert.deepEqual(expiryWarnings(failing, 80 * DAY), []);
  assert.deepEqual(expiryWarnings(failing, 81 * DAY), [
    'the certificate of a.test expires at 1970-04-11T00:00:00.000Z; its renewal fails: a.test: refused',
  ]);
  assert.match(expiryWarnings(failing, 101 * DAY)[0] ?? '', /a\.test expired at/);
});

test('a certificate that is renewed in time is not reported', () => {
  assert.deepEqual(expiryWarnings([shown('a.test', 'acme'), shown('b.test', 'internal')], 99 * DAY), []);
});

test('an expired certificate whose orders succeed is reported with the likely cause', () => {
  assert.match(expiryWarnings([shown('a.test', 'acme')], 101 * DAY)[0] ?? '', /a\.test expired at .*; check the clock of this machine$/);
});

test('sites without a certificate are reported with the reason, at most a few of them', () => {
  const missing = Array.from({ length: 7 }, (_, at) => ({ name: `site-${at}.test`, lastError: `site-${at}.test: no response` }));
  assert.deepEqual(missingWarnings([]), []);
  const lines = missingWarnings(missing);
  assert.equal(lines[0], 'site-0.test has no certificate: no response');
  assert.deepEqual([lines.length, lines.at(-1)], [6, '2 more sites have no certificate']);
});

test('a certificate without automatic renewal is reported with what to do', () => {
  assert.match(expiryWarnings([shown('a.test', 'pushed')], 90 * DAY)[0] ?? '', /provided manually \(pushed\): provide a newer one$/);
  const { certificate, ...applied } = shown('a.test', 'applied');
  const owner = { controller: 'one', source: 'file' };
  const [line] = expiryWarnings([{ ...applied, certificate: { ...certificate, owner } }], 90 * DAY);
  assert.match(line ?? '', /controller "one" applied it: put a newer one into its source$/);
});

test('only the first few of many certificates are reported', () => {
  const many = Array.from({ length: 12 }, (_, at) => shown(`site-${at}.test`, 'file'));
  const lines = expiryWarnings(many, 90 * DAY);
  assert.equal(lines.length, 6);
  assert.equal(lines.at(-1), '7 more certificates expire soon');
});

test('sites that stay on HTTP without a certificate are reported with what to do, at most a few of them', () => {
  const sites = Array.from({ length: 6 }, (_, at) => ({
    name: `nas-${at}.internal`,
    reason: 'no public authority issues for names under internal',
  }));
  assert.deepEqual(uncertifiableWarnings([]), []);
  const lines = uncertifiableWarnings(sites);
  assert.equal(
    lines[0],
    'nas-0.internal stays on HTTP: no public authority issues for names under internal; provide a certificate, write "tls internal", or "tls off" to keep it on HTTP',
  );
  assert.deepEqual([lines.length, lines.at(-1)], [6, '1 more sites stay on HTTP']);
});

test('unusable certificate files are reported', () => {
  assert.deepEqual(
    unusableWarnings([{ id: 'a', source: 'file', reason: '/certs/a/key.pem: the key does not belong to the certificate' }]),
    ["a certificate can't be used: /certs/a/key.pem: the key does not belong to the certificate"],
  );
});

test('each trouble has a kind, a domain and the sentence of its warning', () => {
  const failing = shown('a.test', 'acme', 'a.test: refused');
  assert.deepEqual(
    [70, 81, 101].map((day) => expiryTrouble(failing, day * DAY)?.kind),
    [undefined, 'certificate_expiring', 'certificate_expired'],
  );
  assert.deepEqual(expiryTrouble(failing, 81 * DAY)?.message, expiryWarnings([failing], 81 * DAY)[0]);
  assert.deepEqual(missingTrouble({ name: 'a.test', lastError: 'a.test: no response' }), {
    kind: 'certificate_missing',
    domain: 'a.test',
    message: 'a.test has no certificate: no response',
  });
  assert.deepEqual(
    impossibleTrouble({ name: 'nas.internal', reason: 'no authority issues for it' }).message,
    'nas.internal stays on HTTP: no authority issues for it',
  );
  assert.equal(unusableTrouble({ id: 'a', source: 'file', reason: 'no key' }).domain, null);
});

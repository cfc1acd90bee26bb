import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CertificateRecord } from '../../shared/wire/certificate.ts';
import { admin, sluice } from './testing/run-command.ts';

const NONE = { issuer: null, serial: null, not_before: null, not_after: null, renew_at: null, last_error: null, next_try: null };
const ISSUED: CertificateRecord = {
  ...NONE,
  domains: ['shop.example'],
  source: 'acme',
  issuer: 'R11 (Example Trust)',
  serial: '04ab',
  not_before: '2026-01-01T00:00:00.000Z',
  not_after: '2026-04-01T00:00:00.000Z',
  renew_at: '2026-03-01T12:30:00.000Z',
};
const MISSING: CertificateRecord = {
  ...NONE,
  domains: ['new.example'],
  source: 'acme',
  last_error: 'new.example: connection refused',
  next_try: '2026-01-01T00:05:00.000Z',
};

test('certificates lists the certificates that exist and why any are missing', async (t) => {
  const address = await admin(t, { 'GET /certificates': [200, [MISSING, ISSUED]] });
  const { code, out } = await sluice(['certificates', '--admin', address]);
  assert.equal(code, 0);
  assert.deepEqual(
    out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/)),
    [
      ['DOMAINS', 'SOURCE', 'ISSUER', 'GOOD UNTIL', 'RENEWAL', 'NOTES'],
      ['new.example', 'acme', '-', '-', '-', 'new.example: connection refused; next try 2026-01-01 00:05'],
      ['shop.example', 'acme', 'R11 (Example Trust)', '2026-04-01 00:00', '2026-03-01 12:30'],
    ],
  );
  assert.deepEqual(JSON.parse((await sluice(['certificates', '--json', '--admin', address])).out), [MISSING, ISSUED]);
});

test('certificates reports if there are no certificates', async (t) => {
  const { out } = await sluice(['certificates', '--admin', await admin(t, { 'GET /certificates': [200, []] })]);
  assert.equal(out, 'There are no certificates, and none are ordered.\n');
});

test('certificates --root prints only the root, so that it can be written to a file', async (t) => {
  const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const address = await admin(t, { 'GET /certificates/root': [200, pem] });
  assert.deepEqual(await sluice(['certificates', '--root', '--admin', address]), { code: 0, out: pem, err: '' });
  assert.match((await sluice(['certificates', '--root', '--json', '--admin', address])).err, /--root prints PEM.*leave out --json/);
  const none = await admin(t, { 'GET /certificates/root': [404, { error: 'no internal authority' }] });
  const { code, out, err } = await sluice(['certificates', '--root', '--admin', none]);
  assert.deepEqual([code, out], [1, '']);
  assert.match(
    err,
    /^sluice certificates: there is no root yet: .*; enable it for one site with `tls internal`, or for all with `local_certs`\n$/,
  );
});

test('certificates --retry retries an order now, and reports if none is waiting', async (t) => {
  const answers: Record<string, [number, unknown]> = {
    'POST /certificates/late.example': [202, { retried: 'late.example', domains: ['late.example'] }],
    'POST /certificates/fine.example': [404, { error: 'no order waits for that domain' }],
    'POST /certificates/*.fine.example': [404, { error: 'no order waits for that domain' }],
  };
  const address = await admin(t, answers);
  assert.deepEqual(await sluice(['certificates', '--retry', 'late.example', '--admin', address]), {
    code: 0,
    out: 'late.example is being ordered now; sluice certificates shows the result.\n',
    err: '',
  });
  const { code, err } = await sluice(['certificates', '--retry', 'fine.example', '--admin', address]);
  assert.equal(code, 1);
  assert.match(err, /^sluice certificates: no order for fine\.example is waiting for a retry: .*sluice explain fine\.example/);
  const wildcard = await sluice(['certificates', '--retry', '*.fine.example', '--admin', address]);
  assert.match(wildcard.err, /sluice explain '\*\.fine\.example' shows/);
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makePair } from '../../../../shared/certificates/testing/pairs.ts';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';
import { filesOnDisk } from '../text/files.ts';

const folder = mkdtempSync(join(tmpdir(), 'transport-'));
after(() => rmSync(folder, { recursive: true }));

const compile = (...lines: string[]) =>
  compileBytes(
    Buffer.from(`a.test {\nreverse_proxy https://10.0.0.1:80\ntransport {\n${lines.join('\n')}\n}\n}\n`),
    'Sluicefile',
    {},
    filesOnDisk(folder),
  );

function transportOf(...lines: string[]): unknown {
  const compiled = compile(...lines);
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.diagnostics.map(formatDiagnostic).join('\n'));
  return compiled.routes[0]?.transport;
}

function mistakeIn(...lines: string[]): string {
  const compiled = compile(...lines);
  assert.ok(!compiled.ok);
  return compiled.diagnostics.map(formatDiagnostic).join('\n');
}

test('time limits are in whole seconds, and off disables them', () => {
  assert.deepEqual(transportOf('response_header_timeout 5m', 'read_timeout off', 'dial_timeout 20s'), {
    response_header_timeout_secs: 300,
    read_timeout_secs: 0,
    dial_timeout_secs: 20,
  });
  assert.deepEqual(transportOf('response_header_timeout 0'), { response_header_timeout_secs: 0 });
  assert.deepEqual(transportOf('request_timeout 2m'), { request_timeout_secs: 120 });
  assert.deepEqual(transportOf('response_header_timeout 500ms', 'request_timeout 1.5s'), {
    response_header_timeout_secs: 0.5,
    request_timeout_secs: 1.5,
  });
});

test('the size of a response head is in bytes', () => {
  assert.deepEqual(transportOf('max_response_header_size 512kb'), { max_response_header_bytes: 524_288 });
  assert.deepEqual(transportOf('max_response_header_size 1MB'), { max_response_header_bytes: 1_048_576 });
});

test('tls_client_auth reads a certificate and its key, and reports unusable ones at the name of the file', async () => {
  const [own, other, server, old] = await Promise.all([
    makePair([], { subject: 'CN=proxy', usages: ['1.3.6.1.5.5.7.3.2'] }),
    makePair(['proxy']),
    makePair(['proxy'], { usages: ['1.3.6.1.5.5.7.3.1'] }),
    makePair(['proxy'], { notBefore: 0, notAfter: 1_000 }),
  ]);
  for (const [name, { certificate, privateKey }] of Object.entries({ own, other, server, old })) {
    writeFileSync(join(folder, `${name}.pem`), certificate);
    writeFileSync(join(folder, `${name}.key`), privateKey);
  }
  const line = (certificate: string, key: string): string => `tls_client_auth ${certificate} ${key}`;
  assert.deepEqual(transportOf(line('own.pem', 'own.key')), {
    client_certificate: { certificate: own.certificate, private_key: own.privateKey },
  });
  for (const [lines, column, reason] of [
    [line('own.pem', 'other.key'), 17 + 'own.pem '.length, /"other\.key": the key does not belong to the certificate/],
    [line('server.pem', 'server.key'), 17, /"server\.pem": the certificate is not for clients/],
    [line('own.key', 'own.key'), 0, /"own\.key": it contains no certificate/],
    [line('none.pem', 'own.key'), 17, /"none\.pem": there is no such file/],
    ['tls_client_auth own.pem', 1, /is missing an argument: write tls_client_auth <certificate> <key>/],
    [`${line('own.pem', 'own.key')} x`, 0, /"x" is one argument too many/],
  ] as const) {
    const mistake = mistakeIn(lines);
    assert.match(mistake, reason);
    if (column > 0) assert.match(mistake, new RegExp(`^Sluicefile:4:${column}: `), mistake);
  }
  const expired = compile(line('old.pem', 'old.key'));
  assert.ok(expired.ok);
  assert.match(expired.warnings.map(formatDiagnostic).join('\n'), /old\.pem": it expired on 1970-01-01/);
});

test('tls_client_auth needs upstreams with TLS', async () => {
  const { certificate, privateKey } = await makePair(['proxy']);
  writeFileSync(join(folder, 'both.pem'), certificate + privateKey);
  const text = `a.test {\nreverse_proxy 10.0.0.1:80\ntransport {\ntls_client_auth ${join(folder, 'both.pem')} ${join(folder, 'both.pem')}\n}\n}\n`;
  const compiled = compileBytes(Buffer.from(text), 'Sluicefile', {}, filesOnDisk(folder));
  assert.ok(!compiled.ok);
  assert.match(compiled.diagnostics.map(formatDiagnostic).join('\n'), /transport: certificate options need TLS: write https:\/\//);
});

for (const [line, reason] of [
  ['max_response_header_size 512', /max_response_header_size "512": a size is a whole number followed by b, kb, mb or gb/],
  ['max_response_header_size 2mb', /max_response_header_size "2mb": 16kb to 1mb$/],
  ['max_response_header_size 1kb', /16kb to 1mb$/],
  ['max_response_header_size', /is missing an argument: write max_response_header_size <size>/],
  ['read_timeout 2d', /read_timeout "2d": at most 86400s; off is no limit/],
  ['read_timeout soon', /a duration is a number with a unit.*off is no limit/],
  ['read_timeout', /read_timeout is missing an argument: write read_timeout <duration>\|off/],
  ['read_timeout 1s 2s', /"2s" is one argument too many/],
  ['read_timeout 1s\nread_timeout 2s', /is already in line 4/],
  ['dial_timeout off', /a duration is a number with a unit/],
  ['dial_timeout 0s', /dial_timeout "0s": whole seconds, 1s to 60s$/],
  ['dial_timeout 500ms', /whole seconds, 1s to 60s$/],
  ['dial_timeout 5m', /whole seconds, 1s to 60s$/],
  ['wriet_timeout 5s', /transport has no "wriet_timeout": write .*response_header_timeout <duration>\|off, read_timeout/],
] as const)
  test(`${JSON.stringify(line)} is an error`, () => assert.match(mistakeIn(line), reason));

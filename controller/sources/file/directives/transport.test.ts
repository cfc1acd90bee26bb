import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';
import { filesOnDisk } from '../text/files.ts';

const compile = (...lines: string[]) =>
  compileBytes(
    Buffer.from(`a.test {\nreverse_proxy 10.0.0.1:80\ntransport {\n${lines.join('\n')}\n}\n}\n`),
    'Sluicefile',
    {},
    filesOnDisk('/'),
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
});

test('the size of a response head is in bytes', () => {
  assert.deepEqual(transportOf('max_response_header_size 512kb'), { max_response_header_bytes: 524_288 });
  assert.deepEqual(transportOf('max_response_header_size 1MB'), { max_response_header_bytes: 1_048_576 });
});

for (const [line, reason] of [
  ['max_response_header_size 512', /max_response_header_size "512": a size is a whole number followed by b, kb, mb or gb/],
  ['max_response_header_size 2mb', /max_response_header_size "2mb": 16kb to 1mb$/],
  ['max_response_header_size 1kb', /16kb to 1mb$/],
  ['max_response_header_size', /is missing an argument: write max_response_header_size <size>/],
  ['read_timeout 500ms', /read_timeout "500ms": whole seconds, 1s to 86400s; off is no limit/],
  ['read_timeout 2d', /whole seconds, 1s to 86400s/],
  ['read_timeout soon', /a duration is a number with a unit.*off is no limit/],
  ['read_timeout', /read_timeout is missing an argument: write read_timeout <duration>\|off/],
  ['read_timeout 1s 2s', /"2s" is one argument too many/],
  ['read_timeout 1s\nread_timeout 2s', /is already in line 4/],
  ['dial_timeout off', /a duration is a number with a unit/],
  ['dial_timeout 0s', /dial_timeout "0s": whole seconds, 1s to 60s$/],
  ['dial_timeout 5m', /whole seconds, 1s to 60s$/],
  ['wriet_timeout 5s', /transport has no "wriet_timeout": write .*response_header_timeout <duration>\|off, read_timeout/],
] as const)
  test(`${JSON.stringify(line)} is an error`, () => assert.match(mistakeIn(line), reason));

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';

const compiled = (line: string) =>
  compileBytes(
    Buffer.from(`a.example {\n  @api path /api/*\n  ${line}\n  handle @api {\n    respond "x"\n  }\n  reverse_proxy a:1\n}\n`),
    'Sluicefile',
    {},
  );

for (const [line, expected] of [
  ['mirror b:1', { upstream: 'b:1', tls: false, percent: 100 }],
  ['mirror https://b:1 5%', { upstream: 'b:1', tls: true, percent: 5 }],
  ['mirror @api b:1', { upstream: 'b:1', tls: false, percent: 100, match: { name: '@api', path: ['/api/*'] } }],
] as const)
  test(`${line} is read`, () => {
    const result = compiled(line);
    assert.ok(result.ok, result.ok ? '' : result.diagnostics.map(formatDiagnostic).join('\n'));
    assert.deepEqual(result.routes[0]?.mirror, expected);
  });

for (const [line, mistake] of [
  ['mirror', '3:3: mirror is missing an argument: write mirror <host:port> [<percent>%]'],
  ['mirror b', '3:10: mirror "b": the port is missing'],
  ['mirror b:1 5', '3:14: mirror "5": a percentage from 1% to 100%'],
  ['mirror b:1 0%', '3:14: mirror "0%": a percentage from 1% to 100%'],
  ['mirror b:1 101%', '3:14: mirror "101%": a percentage from 1% to 100%'],
  ['mirror b:1 5% x', '3:17: "x" is one argument too many for mirror'],
  ['shadow b:1', 'unknown directive "shadow" (did you mean "mirror"?)'],
] as const)
  test(`${line} is an error`, () => {
    const result = compiled(line);
    const text = result.ok ? 'accepted' : result.diagnostics.map(formatDiagnostic).join('\n');
    assert.ok(text.includes(mistake), text);
  });

test('further mirror lines are mirrors of their own', () => {
  const result = compiled('mirror b:1\n  mirror @api https://c:1 5%\n  mirror d:1');
  assert.ok(result.ok, result.ok ? '' : result.diagnostics.map(formatDiagnostic).join('\n'));
  const [route] = result.routes;
  assert.deepEqual(route?.mirror, { upstream: 'b:1', tls: false, percent: 100 });
  const target = (address: string) => [{ address, weight: 1, state: 'healthy' }];
  assert.deepEqual(route?.mirrors, [
    { upstreams: target('c:1'), tls: true, match: { name: '@api', path: ['/api/*'] }, fraction: { numerator: 5, denominator: 100 } },
    { upstreams: target('d:1'), tls: false },
  ]);
});

test('more mirrors than a request may have are an error', () => {
  const lines = Array.from({ length: 17 }, (_, nth) => `mirror b:${nth + 1}`).join('\n  ');
  const result = compiled(lines);
  const text = result.ok ? 'accepted' : result.diagnostics.map(formatDiagnostic).join('\n');
  assert.match(text, /19:3: a request is copied to at most 16 mirrors/);
});

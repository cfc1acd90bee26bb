import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';

const compiled = (path: string) =>
  compileBytes(Buffer.from(`a.example {\npath_case sensitive\n@m path ${path}\nrespond @m 404\n}\n`), 'f', {});

test('names that begin with a dot are matched by a part of the path: what follows the dot belongs to the name', () => {
  for (const path of ['*/.*', '*/..*', '*/.git*', '*/x/.*', '/.*']) {
    const { ok, ...result } = compiled(path);
    assert.ok(ok && 'routes' in result, path);
    assert.deepEqual(result.routes[0]?.responds?.[0]?.match?.path, [path]);
  }
});

test('a part that no normalized path contains is an error', () => {
  for (const [path, written] of [
    ['*/.', '*/'],
    ['*/./*', '*/*'],
    ['*/x/../y*', '*/y*'],
    ['*//.*', '*/.*'],
  ] as const) {
    const result = compiled(path);
    const errors = result.ok ? [] : result.diagnostics.map(formatDiagnostic);
    assert.deepEqual(errors, [`f:3:9: path "${path}": paths are compared in normalized form: write ${written}`]);
  }
});

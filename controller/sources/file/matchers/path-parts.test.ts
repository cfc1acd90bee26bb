import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';

const compiled = (path: string) =>
  compileBytes(Buffer.from(`a.example {\npath_case sensitive\n@m path ${path}\nrespond @m 404\n}\n`), 'f', {});

function errorsOf(path: string): string[] {
  const result = compiled(path);
  return result.ok ? [] : result.diagnostics.map(formatDiagnostic);
}

test('names that begin with a dot are matched by a part of the path: what follows the dot belongs to the name', () => {
  for (const path of ['*/.*', '*/..*', '*/.git*', '*/x/.*', '/.*']) {
    const { ok, ...result } = compiled(path);
    assert.ok(ok && 'routes' in result, path);
    assert.deepEqual(result.routes[0]?.responds?.[0]?.match?.path, [path]);
  }
});

test('a part that no normalized path contains is an error', () => {
  for (const path of ['*/.', '*/./*', '*//*', '*/../abc*', '*/../*'])
    assert.deepEqual(errorsOf(path), [`f:3:9: path "${path}": no path has this part, because paths are compared in normalized form`]);
  for (const [path, written] of [
    ['*/x/../y*', '*/y*'],
    ['*//.*', '*/.*'],
  ] as const)
    assert.deepEqual(errorsOf(path), [`f:3:9: path "${path}": paths are compared in normalized form: write ${written}`]);
});

test('a star in the middle is an error that names the kind of matcher for that', () => {
  for (const path of ['/users/*/edit', '/*.html', '*/a*b*'])
    assert.match(errorsOf(path).join('\n'), /"\*" is allowed only at the beginning and the end, .*; path_regexp takes any pattern$/);
});

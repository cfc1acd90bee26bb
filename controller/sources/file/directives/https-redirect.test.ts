import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';

const compiled = (line: string) => compileBytes(Buffer.from(`a.example {\n  ${line}\n  respond "x"\n}\n`), 'f', {});

test('https_redirect is on or off', () => {
  for (const [word, expected] of [
    ['off', false],
    ['on', true],
  ] as const) {
    const result = compiled(`https_redirect ${word}`);
    assert.equal(result.ok && result.routes[0]?.https_redirect, expected);
  }
  const wrong = (line: string): string => {
    const result = compiled(line);
    return result.ok ? '' : result.diagnostics.map((one) => formatDiagnostic(one)).join('\n');
  };
  assert.match(wrong('https_redirect never'), /^f:2:18: .*it is on or off$/);
  assert.match(wrong('https_redirect'), /^f:2:3: https_redirect /);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';

const compiled = (lines: string) => compileBytes(Buffer.from(`a.example {\n${lines}\n}\n`), 'Sluicefile', {});

test('hold sets how long a site and its blocks wait for a target, and nothing if absent', () => {
  const result = compiled('  reverse_proxy app:80\n  hold 1m30s\n  handle /now/* {\n    hold 0s\n  }\n  handle /later/* {\n  }');
  assert.ok(result.ok);
  const [route] = result.routes;
  assert.equal(route?.hold_secs, 90);
  assert.deepEqual(
    route?.handles.map(({ hold_secs }) => hold_secs),
    [0, undefined],
  );
});

for (const [word, reason] of [
  ['10', 'a duration is a number with a unit: 500ms, 30s, 5m, 2h, 1d'],
  ['500ms', 'whole seconds, 300s at most'],
  ['6m', 'whole seconds, 300s at most'],
] as const)
  test(`hold ${word} is rejected with position and reason`, () => {
    const result = compiled(`  hold ${word}\n  reverse_proxy app:80`);
    assert.deepEqual(result.ok ? [] : result.diagnostics.map(formatDiagnostic), [`Sluicefile:2:8: hold "${word}": ${reason}`]);
  });

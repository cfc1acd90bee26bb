import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseRoute } from '../../../shared/route.ts';
import { parseGlobals } from '../../../shared/settings.ts';
import { compileBytes } from './compile.ts';
import { formatDiagnostic } from './diagnostics/diagnostics.ts';
import { filesOnDisk } from './text/files.ts';

const MISTAKES = new URL('golden/mistakes/', import.meta.url);
const ADAPT = new URL('golden/adapt/', import.meta.url);
/** The files that the examples import. */
const IMPORTED = fileURLToPath(new URL('golden/imported/', import.meta.url));
const ENV = { NAME: 'sluice', HOST: 'app', DOMAINS: 'c.example, d.example' };

const namesIn = (directory: URL): string[] =>
  readdirSync(directory)
    .filter((file) => file.endsWith('.sluicefile'))
    .map((file) => file.slice(0, -'.sluicefile'.length));

for (const name of namesIn(MISTAKES)) {
  test(`mistakes: ${name} is reported with the expected text`, () => {
    const compiled = compileBytes(readFileSync(new URL(`${name}.sluicefile`, MISTAKES)), 'Sluicefile', {}, filesOnDisk(IMPORTED));
    assert.ok(!compiled.ok, 'it compiles');
    const lines = compiled.diagnostics.map((diagnostic) => `${formatDiagnostic(diagnostic)}\n`);
    assert.equal(lines.join(''), readFileSync(new URL(`${name}.txt`, MISTAKES), 'utf8'));
  });
}

for (const name of namesIn(ADAPT)) {
  test(`adapt: ${name} becomes exactly these routes`, () => {
    const compiled = compileBytes(readFileSync(new URL(`${name}.sluicefile`, ADAPT)), 'Sluicefile', ENV, filesOnDisk(IMPORTED));
    assert.ok(compiled.ok, compiled.ok ? '' : compiled.diagnostics.map(formatDiagnostic).join('\n'));
    const { globals, routes } = compiled;
    assert.deepEqual({ globals, routes }, JSON.parse(readFileSync(new URL(`${name}.json`, ADAPT), 'utf8')));
    for (const route of routes) assert.deepEqual(parseRoute(route), { ok: true, value: route });
    assert.deepEqual(parseGlobals(globals), { ok: true, value: globals });
  });
}

test('there are at least 40 files with errors, and each has its expected output', () => {
  const names = namesIn(MISTAKES);
  assert.ok(names.length >= 40, `${names.length} files`);
  assert.equal(readdirSync(MISTAKES).length, 2 * names.length);
});

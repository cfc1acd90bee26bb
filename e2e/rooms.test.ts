import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { ROOMS } from './rooms.ts';
import { REPOSITORY } from './testing/process.ts';

/** Test code may be anywhere and import anything. */
const FOR_TESTS = /\.test\.ts$|\/testing\//;
const PRODUCT = ['shared', 'controller', 'dataplane'];
/** Static, dynamic and type-only imports. */
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

/** Every source and test file with the repository paths it imports. */
const IMPORTS: ReadonlyMap<string, readonly string[]> = new Map(
  PRODUCT.flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`, { cwd: REPOSITORY })).map((file) => [file, importsOf(file)]),
);

function importsOf(file: string): string[] {
  const text = readFileSync(join(REPOSITORY, file), 'utf8');
  return [...text.matchAll(IMPORT)].map(([, path = '']) => normalize(join(dirname(file), path)));
}

/** The innermost room of a file. */
function roomOf(file: string): string {
  const inside = ROOMS.map(({ name }) => name).filter((name) => file === name || file.startsWith(`${name}/`));
  const [innermost] = inside.toSorted((one, other) => other.length - one.length);
  assert.ok(innermost !== undefined, `${file} is in no room of e2e/rooms.ts`);
  return innermost;
}

test('every import leads to a room that may be imported', () => {
  const allowed = new Map(ROOMS.map(({ name, mayImport }) => [name, new Set([name, 'shared', ...mayImport])]));
  const forbidden = [...IMPORTS].flatMap(([file, imports]) => {
    if (FOR_TESTS.test(file)) return [];
    return imports.flatMap((path) => {
      if (FOR_TESTS.test(path)) return [`${file} is no test and imports ${path}`];
      return allowed.get(roomOf(file))?.has(roomOf(path)) === true ? [] : [`${file} imports ${path}`];
    });
  });
  assert.deepEqual(forbidden, []);
});

test('each room is listed below those that may import it, and every allowed import is used', () => {
  const names = ROOMS.map(({ name }) => name);
  for (const [at, { name, mayImport }] of ROOMS.entries())
    for (const below of mayImport) assert.ok(names.slice(0, at).includes(below), `${name} → ${below} goes up, or nowhere`);
  const used = new Set(
    [...IMPORTS].flatMap(([file, paths]) => (FOR_TESTS.test(file) ? [] : paths.map((path) => `${roomOf(file)} → ${roomOf(path)}`))),
  );
  const unused = ROOMS.flatMap(({ name, mayImport }) => mayImport.map((below) => `${name} → ${below}`)).filter((edge) => !used.has(edge));
  assert.deepEqual(unused, []);
});

test('there are no import cycles, including types', () => {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    assert.ok(!path.includes(file), `a circle: ${[...path.slice(path.indexOf(file)), file].join(' → ')}`);
    if (done.has(file)) return;
    for (const next of IMPORTS.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of IMPORTS.keys()) visit(file, []);
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Compiled, compileBytes, compileFile } from './compile.ts';
import { formatDiagnostic } from './diagnostics/diagnostics.ts';
import { globalsOfFile } from './globals-of-file.ts';
import { ODD_PIECES, repeated } from './testing/odd-files.ts';

const directory = mkdtempSync(join(tmpdir(), 'sluicefile-'));
after(() => rmSync(directory, { recursive: true }));

const compile = (text: string): Compiled => compileBytes(Buffer.from(text), 'Sluicefile', {});

function errorsOf(compiled: Compiled): string[] {
  assert.ok(!compiled.ok, 'it compiles');
  return compiled.diagnostics.map(formatDiagnostic);
}

test('a missing file is one problem that names it', async () => {
  const path = join(directory, 'none');
  assert.deepEqual(errorsOf(await compileFile(path, {})), [`${path}: there is no such file`]);
});

test('a directory is reported as a single problem', async () => {
  assert.deepEqual(errorsOf(await compileFile(directory, {})), [`${directory}: it is a directory: name the file in it`]);
});

test('a file is compiled under the given path', async () => {
  const path = join(directory, 'Sluicefile');
  writeFileSync(path, '\n{$SITE} { respond ok }\n');
  const compiled = await compileFile(path, { SITE: 'a.example' });
  assert.ok(compiled.ok);
  assert.deepEqual(
    compiled.routes.map(({ domain, origin, source }) => ({ domain, origin, source })),
    [{ domain: 'a.example', origin: `${path}:2`, source: 'file' }],
  );
});

test('an empty file is an error, since a file being written is empty too; a comment is enough', () => {
  for (const text of ['', ' \n\t\n']) assert.match(errorsOf(compile(text)).join(), /^Sluicefile: the file is empty/);
  assert.ok(compile('# nothing\n').ok);
});

test('a repeated header is a warning, and the file compiles', () => {
  const compiled = compile('a.example {\n  respond ok\n  header X-A 1\n  header x-a 2\n}\n');
  assert.ok(compiled.ok);
  assert.deepEqual(compiled.warnings.map(formatDiagnostic), [
    'Sluicefile:4:10: header "x-a" appears twice in this block; the last one wins',
  ]);
});

test('an unused matcher causes a warning, unless it comes from an imported text', () => {
  const shared = '(common) {\n  @bots header User-Agent *bot*\n}\n';
  const compiled = compile(
    `${shared}a.example {\n  import common\n  @get method GET\n  @put method PUT\n  handle {\n    respond @put 405\n    respond ok\n  }\n}\n`,
  );
  assert.ok(compiled.ok);
  assert.deepEqual(compiled.warnings.map(formatDiagnostic), ['Sluicefile:6:3: nothing uses the matcher @get']);
});

test('names of built-in properties are neither directives nor variables', () => {
  assert.deepEqual(errorsOf(compile('a.example {\n  constructor x\n  respond {$toString}\n  __proto__ { }\n}\n')), [
    'Sluicefile:2:3: unknown directive "constructor"',
    'Sluicefile:3:11: the environment variable toString is not set: set it, or write {$toString:default}',
    'Sluicefile:4:3: unknown directive "__proto__"',
  ]);
});

test('an empty variable is not unset', () => {
  const compiled = compileBytes(Buffer.from('a.example { respond 200 "{$EMPTY:full}" }'), 'f', { EMPTY: '' });
  assert.ok(compiled.ok);
  assert.equal(compiled.routes[0]?.respond?.body, '');
});

test('lists the first thousand errors of a file and counts the rest', () => {
  const errors = errorsOf(compile(`a.example {\n${'nonsense "\\q"\n'.repeat(5_000)}}\n`));
  assert.equal(errors.length, 1_001);
  assert.match(errors.at(-1) ?? '', /^Sluicefile: and \d+ more; the first 1000 are listed$/);
});

test('a message is a short single line for any input', () => {
  const [error = ''] = errorsOf(compile(`a.example {\n  reverse_proxy \`${'x\n'.repeat(5_000)}\`\n}\n`));
  assert.ok(!error.includes('\n') && error.length < 300, error);
});

test('a file that repeats any one odd piece is compiled to its end', () => {
  for (const piece of ODD_PIECES) assert.ok('ok' in compileBytes(repeated(piece, 300_000), 'Sluicefile', {}), JSON.stringify(piece));
});

test('globals that are read without the sites are those of the whole file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'globals-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'ports'), '{\n  http_port 81\n}\n');
  const block = '{\n  http_port 8080\n}\n';
  const site = 'a.test {\n  respond ok\n}\n';
  const bad = 'b.test {\n  respnd ok\n}\n';
  const files = [block + site, block + bad, block + bad + block, bad, site, '', bad + block, `{\n  http_prt 1\n}\n${site}`];
  for (const content of [...files, `import ports\n${site}`, `import ports\n${bad}`, `import none\n${block}${site}`, `}\n${block}${site}`]) {
    const path = join(folder, 'Sluicefile');
    writeFileSync(path, content);
    assert.deepEqual(await globalsOfFile(path, {}), (await compileFile(path, {})).globals, content);
  }
  assert.equal(await globalsOfFile(join(folder, 'none'), {}), null);
});

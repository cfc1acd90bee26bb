import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';

function problemsOf(line: string): { errors: string[]; warnings: string[] } {
  const compiled = compileBytes(Buffer.from(`a.example {\n${line}\n}\n`), 'Sluicefile', {});
  const texts = (found: readonly { message: string }[]) => found.map(({ message }) => message);
  return compiled.ok ? { errors: [], warnings: texts(compiled.warnings) } : { errors: texts(compiled.diagnostics), warnings: [] };
}

test('a word in quotation marks that are none is a warning, and several words an error', () => {
  assert.deepEqual(problemsOf(`respond 'hello'`), { errors: [], warnings: [`' is not a quotation mark here: write "…"`] });
  assert.deepEqual(problemsOf('respond “hello”').warnings, ['“ is not a quotation mark here: write "…"']);
  assert.equal(problemsOf('respond “hello there”').errors[0], '“ is not a quotation mark here: write "…"');
  // An apostrophe.
  assert.deepEqual(problemsOf("respond 'twas"), { errors: [], warnings: [`' is not a quotation mark here: write "…"`] });
});

test('other marks within a word or a string are letters', () => {
  for (const line of [`respond it's`, `respond "'hello' “there”"`, "respond `'hello there'`", `respond hello # 'comment`])
    assert.deepEqual(problemsOf(line), { errors: [], warnings: [] }, line);
});

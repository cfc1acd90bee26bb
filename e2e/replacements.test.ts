import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = '{controller,dataplane,shared}/**/*.ts';
/** A pattern, and then a replacement that is not there to be read: String.replace expands `$&` and its like in it. */
const PATTERN = String.raw`(?:\/(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\n\\[])+\/[a-z]*|'[^'\n]*'|"[^"\n]*"|[\w.]+|new RegExp\([^\n]*?\))`;
const TEMPLATE = '`[^`]*\\$\\{';
const NAME_OR_CALL = String.raw`[\w.]+\s*(?:[()[,+]|$)`;
const COMPUTED = String.raw`\.replace(?:All)?\(\s*${PATTERN},\s*(?:${TEMPLATE}|${NAME_OR_CALL})`;
/** What is not text, or is made of our own words alone. */
const HARMLESS = [
  // Workers, one of which takes the place of another.
  /\bworkers\.replace\(/,
  // The name of the product.
  /text\.replace\(new RegExp\(`\^\$\{NAME\} /,
];

test('no replacement is made of bytes that others have sent', () => {
  for (const computed of ['text.replace(/x$/, `a $' + '{b}`)', "text.replace('x', foreign)", 'text.replaceAll(x, of(b))'])
    assert.match(computed, new RegExp(COMPUTED));
  for (const sound of ["text.replace(/x/, '$1')", 'text.replace(/x/, () => foreign)']) assert.doesNotMatch(sound, new RegExp(COMPUTED));
  const found = globSync(SOURCES, { cwd: ROOT })
    .filter((path) => !path.endsWith('.test.ts') && !path.includes('/testing/'))
    .flatMap((path) => {
      const text = readFileSync(`${ROOT}/${path}`, 'utf8');
      return [...text.matchAll(new RegExp(COMPUTED, 'gm'))]
        .map(({ index }) => text.slice(text.lastIndexOf('\n', index) + 1, text.indexOf('\n', index)).trim())
        .filter((line) => !HARMLESS.some((harmless) => harmless.test(line)))
        .map((line) => `${path}: ${line}`);
    });
  assert.deepEqual(found, [], 'give a function as the replacement, or join the text');
});

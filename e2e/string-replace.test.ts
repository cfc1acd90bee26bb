import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = '{controller,dataplane,shared}/**/*.ts';
/** A call whose replacement is a variable: String.replace expands `$&` and similar patterns in it. */
const PATTERN = String.raw`(?:\/(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\n\\[])+\/[a-z]*|'[^'\n]*'|"[^"\n]*"|[\w.]+|new RegExp\([^\n]*?\))`;
const TEMPLATE = '`[^`]*\\$\\{';
const NAME_OR_CALL = String.raw`[\w.]+\s*(?:[()[,+]|$)`;
const COMPUTED = String.raw`\.replace(?:All)?\(\s*${PATTERN},\s*(?:${TEMPLATE}|${NAME_OR_CALL})`;
/** Calls that are not String.replace, or whose replacement never contains foreign text. */
const HARMLESS = [
  // Replaces a worker.
  /\bworkers\.replace\(/,
  // The name of the product.
  /text\.replace\(new RegExp\(`\^\$\{NAME\} /,
];

test('no call of String.replace has a replacement with bytes from outside', () => {
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

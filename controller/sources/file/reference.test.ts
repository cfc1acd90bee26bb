import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PLAIN_NAMES, PREFIXES } from '../../../shared/placeholders/names.ts';
import { compileBytes } from './compile.ts';
import { formatDiagnostic } from './diagnostics/diagnostics.ts';
import { SITE_RULES } from './directives/directives.ts';
import { KINDS } from './matchers/matcher-kinds.ts';
import { GLOBAL_RULES } from './sites/globals.ts';
import { filesOnDisk } from './text/files.ts';

const reference = readFileSync(new URL('../../../docs/reference/sluicefile.md', import.meta.url), 'utf8');
/** The files that the examples use. */
const NAMED = fileURLToPath(new URL('golden/imported/', import.meta.url));

/** From a heading to the next one of the same or a higher level. */
function section(heading: string): string {
  const rank = heading.indexOf(' ');
  const start = reference.indexOf(`\n${heading}\n`);
  assert.ok(start >= 0, `the reference has no "${heading}"`);
  const rest = reference.slice(start + 1 + heading.length);
  const end = rest.search(new RegExp(`\\n#{1,${rank}} `));
  return end < 0 ? rest : rest.slice(0, end);
}

const blocksOf = (text: string): string[] => [...text.matchAll(/```sluicefile\n(.*?)```/gs)].map(([, block = '']) => block);

test('every example of the reference compiles, without a warning', () => {
  const blocks = blocksOf(reference);
  assert.ok(blocks.length > 10);
  for (const block of blocks) {
    const compiled = compileBytes(Buffer.from(block), 'example', {}, filesOnDisk(NAMED));
    const messages = compiled.ok ? compiled.warnings : compiled.diagnostics;
    assert.deepEqual(messages.map(formatDiagnostic), [], block);
  }
});

for (const [kind, rules] of [
  ['global', GLOBAL_RULES],
  ['directive', SITE_RULES],
] as const) {
  for (const rule of rules.values()) {
    test(`the ${kind} ${rule.name} has a section with its form and an example`, () => {
      const text = section(`### ${rule.name}`);
      const [form = ''] = rule.form.split(/,| or /, 1);
      assert.ok(text.includes(`\`${form}\``), `${form} is missing`);
      const examples = kind === 'global' ? blocksOf(section('## Globals')) : blocksOf(text);
      assert.ok(examples.some((example) => new RegExp(`^\\s*${rule.name}\\s`, 'm').test(example)));
    });
  }
}

test('every kind of matcher is in the table with its form', () => {
  for (const { form } of Object.values(KINDS)) assert.ok(section('### Matchers').includes(`| \`${form}\` |`), form);
});

test('every placeholder is in the table, with all of its names', () => {
  const table = section('### Placeholders');
  for (const name of PLAIN_NAMES.keys()) assert.ok(table.includes(`\`{${name}}\``), name);
  for (const prefix of PREFIXES.keys()) assert.ok(new RegExp(`\`{${prefix.replaceAll('.', '\\.')}(?:NAME|N)}\``).test(table), prefix);
});

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Compiled } from './compile.ts';
import { compileBytes } from './compile.ts';
import { formatDiagnostic } from './diagnostics/diagnostics.ts';
import { layOut } from './layout.ts';
import { pseudoRandom } from './testing/pseudo-random.ts';
import { ENVIRONMENT, validFile } from './testing/valid-file.ts';

function laidOut(text: string): string {
  const layout = layOut(Buffer.from(text), 'Sluicefile');
  assert.ok(layout.ok, layout.ok ? '' : layout.diagnostics.map(formatDiagnostic).join('\n'));
  return layout.text;
}

const CASES: Readonly<Record<string, readonly [written: string, laidOut: string]>> = {
  'words are one space apart, lines two spaces a level': ['a.example  {\n\t\trespond\t200\n\t  }', 'a.example {\n  respond 200\n}\n'],
  'a block stays on one line where it was written so': [
    'a {   handle { respond  200}  }'.replace('200}', '200 }'),
    'a { handle { respond 200 } }\n',
  ],
  'a block over several lines has its braces at line ends': ['a { respond 200\ntls off }', 'a {\n  respond 200\n  tls off\n}\n'],
  'comments stay, at the end of a line or on their own': [
    '# top\n\n{ # globals\n#in\nhttp_port 1 # port\n}#end\n'.replace('}#end', '} #end'),
    '# top\n\n{ # globals\n  #in\n  http_port 1 # port\n} #end\n',
  ],
  'blank lines are kept one at a time, and none at the edge of a block': [
    '\n\na {\n\n\n  tls off\n\n\n  respond 200\n\n}\n\n',
    'a {\n  tls off\n\n  respond 200\n}\n',
  ],
  'blocks of the top level are apart, one-liners may stay together': [
    'a { respond 200 }\nb { respond 200 }\nc {\n}\n# d\nd {\n}\n',
    'a { respond 200 }\nb { respond 200 }\nc {\n}\n\n# d\nd {\n}\n',
  ],
  'a continued line goes on a level deeper': ['a {\n reverse_proxy x:1 \\\n x:2 \\\n\n}', 'a {\n  reverse_proxy x:1 \\\n    x:2\n}\n'],
  'addresses may stand on several lines': ['a,\n   b {\n}', 'a,\nb {\n}\n'],
  'strings stay as they are': ['a {\r\n respond "x  \\"y" `z\r\n  w`\r\n}', 'a {\n  respond "x  \\"y" `z\n  w`\n}\n'],
  'a backslash on its own is quoted, for at a line end it would continue': ['a {\n header X \\ \n}', 'a {\n  header X `\\`\n}\n'],
  'a file of directives that others import is laid out as well': [
    'header {\nX-A   b\n}\nimport  x  y,z\nbasic_auth "r" { bob x }',
    'header {\n  X-A b\n}\n\nimport x y,z\nbasic_auth "r" { bob x }\n',
  ],
  'nothing stays nothing': ['\n \n', ''],
};

for (const [claim, [written, expected]] of Object.entries(CASES)) test(claim, () => assert.equal(laidOut(written), expected));

test('a text with mismatched braces or strings is rejected with all positions', () => {
  const layout = layOut(Buffer.from('a{\n  respond "x\n}\n}\nb {\n'), 'f');
  assert.ok(!layout.ok);
  assert.deepEqual(layout.diagnostics.map(formatDiagnostic), [
    'f:1:2: "{" must be separate: put a space or a line end before and after it',
    'f:2:11: the string is not closed on its line: add ", or use backquotes for several lines',
    'f:4:1: "}" closes nothing: delete it',
    'f:5:3: the block is never closed: add "}"',
  ]);
});

/** The meaning of a file: everything but the line numbers. */
function meaningOf(compiled: Compiled) {
  return compiled.ok && { globals: compiled.globals, routes: compiled.routes.map((route) => ({ ...route, origin: '' })) };
}

test('formatting a valid file keeps its meaning and comments, and is idempotent', () => {
  for (let seed = 1; seed <= 1_500; seed++) {
    const written = validFile(pseudoRandom(seed * 7_919));
    const where = `seed ${seed}:\n${written}`;
    const before = compileBytes(Buffer.from(written), 'f', ENVIRONMENT);
    assert.ok(before.ok, before.ok ? '' : `${where}${before.diagnostics.map(formatDiagnostic).join('\n')}`);
    const text = laidOut(written);
    assert.deepEqual(meaningOf(compileBytes(Buffer.from(text), 'f', ENVIRONMENT)), meaningOf(before), where);
    assert.equal(laidOut(text), text, where);
    assert.deepEqual(commentsOf(text), commentsOf(written), where);
    assert.ok(!/[ \t]\n|\n\n\n|\r/.test(text), where);
  }
});

/** No string in these files contains the beginning of a comment at the start of a word, except `two⏎lines`. */
function commentsOf(text: string): string[] {
  return [
    ...text
      .replaceAll('`two\nlines # {`', '')
      .replaceAll('"b # c"', '')
      .matchAll(/(?<![^\s])#.*/g),
  ].map(([comment]) => comment.trimEnd());
}

test('formatting arbitrary bytes is rejected, or is idempotent and keeps the meaning', () => {
  const golden = ['golden/adapt/', 'golden/mistakes/', 'golden/imported/'].flatMap((directory) =>
    readdirSync(new URL(directory, import.meta.url), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => readFileSync(new URL(directory + name, import.meta.url))),
  );
  let laid = 0;
  for (let seed = 1; seed <= 3_000; seed++) {
    const random = pseudoRandom(seed * 104_729);
    let bytes = golden[random(golden.length)] ?? Buffer.alloc(0);
    for (let edits = random(4); edits > 0; edits--) {
      const at = random(bytes.length + 1);
      bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from('{} \n\\"`#\r,a'.charAt(random(11))), bytes.subarray(at + random(3))]);
    }
    const layout = layOut(bytes, 'f');
    if (!layout.ok) continue;
    laid++;
    const where = `seed ${seed}: ${JSON.stringify(bytes.toString('latin1'))}`;
    const again = layOut(Buffer.from(layout.text), 'f');
    assert.ok(again.ok && again.text === layout.text, where);
    const [before, after] = [bytes, Buffer.from(layout.text)].map((text) => meaningOf(compileBytes(text, 'f', {})));
    assert.deepEqual(after, before, where);
  }
  assert.ok(laid > 500, `${laid} were laid out`);
});

test('every example of the reference is in canonical format', () => {
  const reference = readFileSync(new URL('../../../docs/reference/sluicefile.md', import.meta.url), 'utf8');
  for (const [, example = ''] of reference.matchAll(/```sluicefile\n(.*?)```/gs)) assert.equal(laidOut(example), example);
});

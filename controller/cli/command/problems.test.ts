import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { Diagnostic } from '../../sources/file/diagnostics/diagnostics.ts';
import { LAUNCHER, sluice, temporary } from '../testing/run-command.ts';
import type { Terminal } from './command.ts';
import { excerptOf, reportProblems } from './problems.ts';

const at = (text: string, line: number, column: number): Diagnostic => ({ path: 'f', place: { line, column }, message: 'm', text });
const plainScreen = (columns = 80) => ({ columns, colour: false });
const excerpt = (text: string, column: number, columns = 80): string[] =>
  excerptOf(at(text, 7, column), plainScreen(columns), 'error')
    .split('\n')
    .slice(0, 2);

test('the marker is under the whole word', () => {
  assert.deepEqual(excerpt('  headr X-A b', 3), ['  7 |   headr X-A b', '    |   ^^^^^']);
});

test('a string is marked including its quotation marks', () => {
  assert.deepEqual(excerpt('respond "a b" x', 9), ['  7 | respond "a b" x', '    |         ^^^^^']);
  assert.deepEqual(excerpt('respond `a b', 9), ['  7 | respond `a b', '    |         ^^^^']);
});

test('tabs and wide characters before the word do not move the marker', () => {
  assert.deepEqual(excerpt('\t日本 😀 é x', 9), ['  7 |  日本 😀 é x', `    | ${' '.repeat(11)}^`]);
});

test('a position after the end of the line is marked there', () => {
  assert.deepEqual(excerpt('a {', 9), ['  7 | a {', '    |    ^']);
});

test('shows the part with the word if the line is longer than the terminal', () => {
  const [line = '', marks = ''] = excerpt(`${'x '.repeat(100)}wrong ${'y '.repeat(100)}`, 201, 60);
  assert.ok(line.length <= 60 && marks.length <= 60, line);
  assert.equal(line.slice(marks.indexOf('^'), marks.lastIndexOf('^') + 1), 'wrong');
});

test('marks the visible part of a word longer than the terminal', () => {
  const [line = '', marks = ''] = excerpt(`respond ${'z'.repeat(500)}`, 9, 60);
  assert.ok(line.length <= 60 && marks.length <= line.length && marks.endsWith('^'), marks);
});

function written(stderr: Terminal['stderr'], kind: 'error' | 'warning'): string {
  let text = '';
  const err = (more: string) => {
    text += more;
  };
  const terminal: Terminal = { out: () => undefined, err, columns: null, colour: false, ...(stderr && { stderr }) };
  reportProblems([at('  word', 1, 3), { path: 'f', place: null, message: 'as a whole' }], terminal, kind);
  return text;
}

test('without a terminal a problem is one plain line', () => {
  assert.equal(written(undefined, 'error'), 'f:1:3: m\nf: as a whole\n');
  assert.equal(written(undefined, 'warning'), 'warning: f:1:3: m\nwarning: f: as a whole\n');
});

test('on a terminal the line of the file and the marker follow, with or without color', () => {
  assert.equal(written({ columns: 80, colour: false }, 'error'), 'f:1:3: m\n  1 |   word\n    |   ^^^^\nf: as a whole\n');
  const red = (text: string) => `\u001b[31;1m${text}\u001b[0m`;
  assert.equal(
    written({ columns: 80, colour: true }, 'error'),
    `${red('f:1:3: m')}\n  1 |   word\n    |   ${red('^^^^')}\n${red('f: as a whole')}\n`,
  );
});

test('validate also shows lines of imported files, in color on a terminal and plain with NO_COLOR or a pipe', {
  skip: existsSync('/usr/bin/script') ? false : 'script is not installed',
}, async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'Sluicefile'), 'import more.conf\n');
  writeFileSync(join(directory, 'more.conf'), 'a.example {\n\trespon 200\n}\n');
  const problem = 'more.conf:2:2: unknown directive "…" (did you mean "respond"?) (imported by Sluicefile:1:1)';
  assert.deepEqual((await sluice(['validate', '--config', 'Sluicefile'], { cwd: directory })).err, `${problem}\n`);
  const onTerminal = async (env: Record<string, string>): Promise<string> => {
    const options = { cwd: directory, env: { PATH: process.env.PATH ?? '', TERM: 'xterm', ...env } };
    // script gives the program a terminal, and returns its exit code.
    const shown = promisify(execFile)('script', ['-qec', `${LAUNCHER} validate --config Sluicefile`, '/dev/null'], options);
    return (await shown.catch(({ stdout }: { stdout: string }) => ({ stdout }))).stdout.replaceAll('\r\n', '\n');
  };
  assert.equal(await onTerminal({ NO_COLOR: '1' }), `${problem}\n  2 |  respon 200\n    |  ^^^^^^\n`);
  assert.equal(await onTerminal({}), `\u001b[31;1m${problem}\u001b[0m\n  2 |  respon 200\n    |  \u001b[31;1m^^^^^^\u001b[0m\n`);
});

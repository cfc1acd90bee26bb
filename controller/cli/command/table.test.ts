import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Terminal } from './command.ts';
import { table } from './table.ts';

const terminal = (columns: number | null, colour = false): Terminal => ({ out: () => undefined, err: () => undefined, columns, colour });
const ROWS = [['a.example', 'x'.repeat(100), 'file']];

test('shortens the widest column on a terminal until every line fits', () => {
  for (const columns of [40, 60, 80])
    for (const line of table(terminal(columns), ['DOMAIN', 'TARGET', 'SOURCE'], ROWS).split('\n')) assert.ok(line.length <= columns, line);
  assert.match(table(terminal(60), ['DOMAIN', 'TARGET', 'SOURCE'], ROWS), /^a\.example +x+… +file$/m);
});

test('shortens nothing in a pipe', () => {
  assert.ok(table(terminal(null), ['DOMAIN', 'TARGET', 'SOURCE'], ROWS).includes('x'.repeat(100)));
});

test('stops shortening on a terminal that is far too narrow', () => {
  assert.match(table(terminal(3), ['DOMAIN', 'TARGET'], [['a'.repeat(50), 'b'.repeat(50)]]), /^aaaaaaa…/m);
});

test('styles only the header, and only if color is enabled', () => {
  assert.ok(table(terminal(80, true), ['DOMAIN'], [['a']]).startsWith('\u001b[1mDOMAIN\u001b[0m\n'));
  assert.ok(!table(terminal(80), ['DOMAIN'], [['a']]).includes('\u001b'));
});

import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { table } from './table.ts';
import { styled, terminalOf } from './terminal.ts';

/** A terminal over the test's streams; `columns` undefined means a pipe. */
function terminal(columns: number | undefined, env: Record<string, string> = {}) {
  const stream = () => Object.assign(new PassThrough(), { isTTY: columns !== undefined, ...(columns !== undefined && { columns }) });
  const [stdout, stderr, codes] = [stream(), stream(), [] as number[]];
  return { stdout, errors: stderr, codes, ...terminalOf({ stdout, stderr, env, exit: (code) => codes.push(code) }) };
}

test('uses color on terminals, but not in pipes, with NO_COLOR or on a dumb terminal', () => {
  assert.equal(styled(terminal(80), 'red', 'x'), '\u001b[31mx\u001b[0m');
  for (const other of [terminal(undefined), terminal(80, { NO_COLOR: '1' }), terminal(80, { TERM: 'dumb' })])
    assert.equal(styled(other, 'red', 'x'), 'x');
  assert.equal(styled(terminal(80, { NO_COLOR: '' }), 'red', 'x'), '\u001b[31mx\u001b[0m', 'an empty NO_COLOR is none');
});

test('a table fits the terminal, and is complete in a pipe', () => {
  const rows = [['x'.repeat(100), 'y'.repeat(50), 'z']];
  const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length));
  assert.ok(widest(table(terminal(60, { NO_COLOR: '1' }), ['A', 'B', 'C'], rows)) <= 60);
  assert.ok(table(terminal(undefined), ['A', 'B', 'C'], rows).includes('x'.repeat(100)));
});

test('a terminal of unknown width has 80 columns', () => {
  assert.equal(terminal(0).columns, 80);
});

test('a closed pipe ends the program silently, a full disk with the reason', () => {
  const { stdout, errors, codes } = terminal(undefined);
  stdout.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  assert.deepEqual(codes, [0]);
  assert.equal(errors.read(), null);
  stdout.emit('error', Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' }));
  assert.deepEqual(codes, [0, 1]);
  assert.equal(String(errors.read()), "sluice: the output can't be written: ENOSPC: no space left\n");
  errors.emit('error', Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }));
  assert.deepEqual(codes, [0, 1, 1]);
});

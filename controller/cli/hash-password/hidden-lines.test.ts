import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cancelled, type HiddenInput, hiddenLines } from './hidden-lines.ts';

/** A terminal in which these chunks are typed; `raw` records the settings of its echo, in order. */
function terminalOf(...chunks: string[]): HiddenInput & { raw: boolean[] } {
  const raw: boolean[] = [];
  return {
    raw,
    setRawMode: (on) => raw.push(on),
    async *[Symbol.asyncIterator]() {
      yield* chunks;
    },
  };
}

async function linesOf(input: HiddenInput): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of hiddenLines(input)) lines.push(line);
  return lines;
}

test('lines are read regardless of how keys arrive, and echo is off until the end', async () => {
  const terminal = terminalOf('se', 'cret\r', 'secret\nx\r');
  assert.deepEqual(await linesOf(terminal), ['secret', 'secret', 'x']);
  assert.deepEqual(terminal.raw, [true, false]);
});

test('backspace deletes the last character as a whole, and Ctrl-U the line', async () => {
  assert.deepEqual(await linesOf(terminalOf('\u007fa😀\u007fb\r', 'wrong\u0015right\u0004')), ['ab', 'right']);
});

test('control keys are not part of a password', async () => {
  assert.deepEqual(await linesOf(terminalOf('a\u0001\u001bb\r')), ['ab']);
});

test('Ctrl-C cancels and turns echo back on', async () => {
  const terminal = terminalOf('sec\u0003ret\r');
  await assert.rejects(linesOf(terminal), Cancelled);
  assert.deepEqual(terminal.raw, [true, false]);
});

/** A terminal whose echo can be switched off, such as `process.stdin`. Its chunks are text. */
export type HiddenInput = AsyncIterable<string> & { setRawMode(raw: boolean): unknown };

/** Ctrl-C was typed. */
export class Cancelled extends Error {}

const END = new Set(['\r', '\n', '\u0004']);
const ERASE = new Set(['\u007f', '\b']);
const ERASE_ALL = '\u0015';
const CANCEL = '\u0003';

/**
 * Lines that are typed without being shown, with the keys of a terminal's own line editor: backspace, Ctrl-U, Ctrl-D, Ctrl-C. Echo is
 * restored when the generator ends. @throws Cancelled.
 */
export async function* hiddenLines(input: HiddenInput): AsyncGenerator<string, undefined, undefined> {
  let line: string[] = [];
  input.setRawMode(true);
  try {
    for await (const chunk of input) {
      for (const key of chunk) {
        if (key === CANCEL) throw new Cancelled('cancelled');
        if (END.has(key)) {
          yield line.join('');
          line = [];
        } else if (ERASE.has(key)) line.pop();
        else if (key === ERASE_ALL) line = [];
        else if (key >= ' ') line.push(key);
      }
    }
  } finally {
    input.setRawMode(false);
  }
  return undefined;
}

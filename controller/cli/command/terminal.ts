import { NAME } from '../../../shared/name.ts';
import type { Terminal } from './command.ts';

/** The parts of a process that make up its terminal. */
export type Streams = {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly env: Readonly<Record<string, string | undefined>>;
  exit(code: number): void;
};
type Stream = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
};

/**
 * The process's own terminal. No color in a pipe or with NO_COLOR. A closed pipe (`| head`) ends the program silently, and any other
 * failure, such as a full disk, with the reason.
 */
export function terminalOf({ stdout, stderr, env, exit }: Streams): Terminal {
  for (const stream of [stdout, stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return exit(0);
      if (stream === stdout) stderr.write(`${NAME}: the output can't be written: ${error.message}\n`);
      exit(1);
    });
  const mayColour = !env.NO_COLOR && env.TERM !== 'dumb';
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    columns: stdout.isTTY ? stdout.columns || 80 : null,
    colour: stdout.isTTY === true && mayColour,
    ...(stderr.isTTY && { stderr: { columns: stderr.columns || 80, colour: mayColour } }),
  };
}

const STYLES = { red: 31, green: 32, yellow: 33, bold: 1, dim: 2 } as const;

export function styled({ colour }: Terminal, style: keyof typeof STYLES, text: string): string {
  return colour ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text;
}

/** Makes external text safe for a terminal by removing control characters. */
export const plain = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ');

/** The same for a text of several lines. */
export const plainLines = (text: string): string => text.split(/\r?\n/).map(plain).join('\n');

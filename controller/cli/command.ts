import type { Flag, Flags } from '../../shared/runtime/flags.ts';

/** Where a command writes. */
export type Terminal = {
  out(text: string): void;
  err(text: string): void;
  /** Characters a line; null when the output is no terminal. */
  readonly columns: number | null;
  readonly colour: boolean;
  /** What is known of stderr where that is a terminal. */
  readonly stderr?: Screen;
};

export type Screen = { readonly columns: number; readonly colour: boolean };

export type Command = {
  /** Arguments and flags after the command's name, for `--help`. */
  readonly usage: string;
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** Words that may stand beside the flags, where there are only a few; for completion. */
  readonly positionals?: readonly string[];
  /** @returns the exit code: 0, or 1 when the answer is no. @throws CommandError, UsageError, AdminUnreachable. */
  run(flags: Flags, terminal: Terminal): Promise<number>;
};

/** A command is loaded when it is used: `routes` must not wait for what `run` needs. One of `load` and `raw` stands. */
export type Entry = {
  readonly summary: string;
  readonly load?: () => Promise<Command>;
  /** Reads its own arguments: they are other processes' flags. */
  readonly raw?: () => Promise<(argv: readonly string[], terminal: Terminal) => Promise<number>>;
};

/** The command can't do its work; the message is the one line on stderr. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

import type { Flag, Flags } from '../../../shared/runtime/flags.ts';

/** Where a command writes. */
export type Terminal = {
  out(text: string): void;
  err(text: string): void;
  /** The width in characters; null if the output is not a terminal. */
  readonly columns: number | null;
  readonly colour: boolean;
  /** The properties of stderr if it is a terminal. */
  readonly stderr?: Screen;
};

export type Screen = { readonly columns: number; readonly colour: boolean };

export type Command = {
  /** Arguments and flags after the command's name, for `--help`. */
  readonly usage: string;
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** The possible positional arguments, if there are only a few; for completion. */
  readonly positionals?: readonly string[];
  /** @returns the exit code: 0, or 1 for a negative result. @throws CommandError, UsageError, AdminUnreachable. */
  run(flags: Flags, terminal: Terminal): Promise<number>;
};

/** A command is loaded when it is used: `routes` must not wait for the modules of `run`. Either `load` or `raw` is present. */
export type CommandEntry = {
  readonly summary: string;
  readonly load?: () => Promise<Command>;
  /** Reads its own arguments, since they are the flags of other processes. */
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

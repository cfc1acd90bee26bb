/** What passes over the socket by which one data plane takes over from another: JSON, one message a line. */

/** The socket's name in the state directory. */
export const TAKEOVER_SOCKET = 'takeover.sock';

/** One step of a takeover (ms), and the start of a successor up to its first request. */
export const STEP_MS = 10_000;
export const SUCCESSOR_START_MS = 60_000;

/** How a running data plane was started: enough to start its successor the same way. */
export type Description = {
  readonly version: string;
  readonly pid: number;
  /** The command of ours and its arguments: `run --config …`, `dataplane --http-port …`. */
  readonly command: readonly string[];
  readonly directory: string;
  /** May hold secrets: it passes over a socket of mode 0600. */
  readonly environment: Readonly<Record<string, string>>;
};

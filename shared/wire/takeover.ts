/**
 * The protocol of the takeover socket, for takeovers and upgrades: JSON, one message per line, each an object whose only member names it.
 *
 * | the successor sends | the running process | and responds |
 * |---|---|---|
 * | `takeover` | stops saving, releases the table on disk, and offers its listening sockets | `released` |
 * | `serving`, when its workers serve beside the others | withdraws the offer and closes its Admin API | `admin` |
 * | `done`, when its Admin API is open | frees the socket's path, drains and exits | `left` |
 *
 * If a step fails or takes too long, or the connection ends before `done`, the running process says why (`refused`), takes everything back
 * and continues. `describe` and `upgrade` are single requests of other programs.
 */

/** The socket's name in the state directory. */
export const TAKEOVER_SOCKET = 'takeover.sock';

/** The name of the socket in the state directory through which a successor gets the listening sockets during a takeover. */
export const LISTENERS_SOCKET = 'listeners.sock';

/** Time limits of one takeover step (ms), and of a successor's start up to its first request. */
export const STEP_MS = 10_000;
export const SUCCESSOR_START_MS = 60_000;

/**
 * `{"released":{"listeners":"net:[4026531840]","network":"net:[4026531840]","ports":[80,443]}}`: the table is released, and the process listens
 * on these ports of that network namespace. `listeners` is the same namespace if the sockets are offered. Older versions do not offer them, or
 * do not name the ports.
 */
export type Released = { readonly listeners?: string | null; readonly network?: string | null; readonly ports?: readonly number[] };

/** The response to `{"describe":{}}`. */
export type InstanceDescription = {
  readonly version: string;
  /** The pid to stop for stopping the whole instance: the parent's, if there is one. In a container, a pid of that container. */
  readonly pid: number;
  /** When it started, in ISO 8601. */
  readonly since: string;
  /** Distinguishes its processes from those of other containers; null if the system cannot. */
  readonly processes: string | null;
};

/** `{"upgrade":{"launcher":PATH}}`: start a successor with this launcher, and report the outcome. */
export type UpgradeRequest = { readonly launcher: string };

/** The response, as `upgraded`; `{"refused":{"reason"}}` if the old process continues. */
export type Upgraded = { readonly old: VersionOf; readonly new: VersionOf };

export type VersionOf = { readonly version: string; readonly pid: number };

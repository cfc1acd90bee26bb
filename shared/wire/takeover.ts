/** The protocol of the takeover socket, for takeovers and upgrades: JSON, one message per line. */

/** The socket's name in the state directory. */
export const TAKEOVER_SOCKET = 'takeover.sock';

/** One step of a takeover (ms), and the start of a successor up to its first request. */
export const STEP_MS = 10_000;
export const SUCCESSOR_START_MS = 60_000;

/** Who answers: `{"describe":{}}`. */
export type Description = {
  readonly version: string;
  /** The process to end, to end all of it: the parent's, where there is one. In a container a number of that container. */
  readonly pid: number;
  /** When it started, in ISO 8601. */
  readonly since: string;
  /** What tells its processes from those of other containers; null where the system tells none apart. */
  readonly processes: string | null;
};

/** `{"upgrade":{"launcher":PATH}}`: start your successor by this launcher, and say what came of it. */
export type UpgradeRequest = { readonly launcher: string };

/** The answer, as `upgraded`; `{"refused":{"reason"}}` instead when the old one goes on. */
export type Upgraded = { readonly old: VersionOf; readonly new: VersionOf };

export type VersionOf = { readonly version: string; readonly pid: number };

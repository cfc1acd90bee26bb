import { ENV_PREFIX } from '../name.ts';

/** Set to 1 by whoever holds the other end of stdin. */
export const SUPERVISED_VARIABLE = `${ENV_PREFIX}SUPERVISED`;

/** The process id of the parent that the launcher put above `run` and `dataplane`: where it stands, none is put there. */
export const PARENT_VARIABLE = `${ENV_PREFIX}PARENT`;

/** The launcher by which this process was started, as it was called: links in it are followed anew by each start. */
export const LAUNCHER_VARIABLE = `${ENV_PREFIX}LAUNCHER`;

/** How a supervised process ends whose successor has its place: there is nothing to start again. */
export const HANDED_OVER_EXIT = 86;

export const isSupervised = (): boolean => process.env[SUPERVISED_VARIABLE] === '1';

/** Calls back when the supervisor is gone, however it went: its end of the pipe closes with it. */
export function whenOrphaned(gone: () => void): void {
  if (!isSupervised()) return;
  process.stdin.once('end', gone).once('error', gone).resume();
  process.stdin.unref?.();
}

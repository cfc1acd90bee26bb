import { ENV_PREFIX } from '../name.ts';

/** Set to 1 by a supervisor that holds the other end of stdin. */
export const SUPERVISED_VARIABLE = `${ENV_PREFIX}SUPERVISED`;

/** The command that the supervisor itself was given, as JSON: what has to be started again to replace all of it. */
export const SUPERVISOR_COMMAND_VARIABLE = `${ENV_PREFIX}SUPERVISOR_COMMAND`;

/** How a supervised process ends whose successor has its place: there is nothing to start again. */
export const HANDED_OVER_EXIT = 86;

export const isSupervised = (): boolean => process.env[SUPERVISED_VARIABLE] === '1';

/** Calls back when the supervisor is gone, however it went: its end of the pipe closes with it. */
export function whenOrphaned(gone: () => void): void {
  if (!isSupervised()) return;
  process.stdin.once('end', gone).once('error', gone).resume();
  process.stdin.unref?.();
}

import { ENV_PREFIX } from '../../name.ts';

/** Set to 1 by a parent process, which holds the other end of stdin. */
export const SUPERVISED_VARIABLE = `${ENV_PREFIX}SUPERVISED`;

/** The pid of the parent that the launcher starts for `run` and `dataplane`. If it is set, the launcher starts no further parent. */
export const PARENT_VARIABLE = `${ENV_PREFIX}PARENT`;

/** The path of the launcher as it was called. Symbolic links in it are resolved again at each start. */
export const LAUNCHER_VARIABLE = `${ENV_PREFIX}LAUNCHER`;

/** How many threads V8 has in a child for what it does concurrently: compiling and collecting garbage. */
export const V8_THREADS_VARIABLE = `${ENV_PREFIX}V8_THREADS`;

/** Set to 1 for a data plane that is told later how to start. */
export const AWAITS_START_VARIABLE = `${ENV_PREFIX}AWAITS_START`;

/** Set to 1 for a process that replaces one that has served and ended. */
export const RESTARTED_VARIABLE = `${ENV_PREFIX}RESTARTED`;

/** The globals of the config file as JSON, which the data plane needs before the first frame. */
export const FILE_GLOBALS_VARIABLE = `${ENV_PREFIX}FILE_GLOBALS`;

/** The exit code of a supervised process after a takeover: it must not be restarted. */
export const HANDED_OVER_EXIT = 86;

export const isSupervised = (): boolean => process.env[SUPERVISED_VARIABLE] === '1';

/** Calls back when the parent exits for any reason, which closes its end of the pipe. */
export function whenOrphaned(gone: () => void): void {
  if (!isSupervised()) return;
  process.stdin.once('end', gone).once('error', gone).resume();
  process.stdin.unref?.();
}

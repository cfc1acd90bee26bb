import { ENV_PREFIX } from '../name.ts';

/** Set to 1 by a supervisor that holds the other end of stdin. */
export const SUPERVISED_VARIABLE = `${ENV_PREFIX}SUPERVISED`;

/** Calls back when the supervisor is gone, however it went: its end of the pipe closes with it. */
export function whenOrphaned(gone: () => void): void {
  if (process.env[SUPERVISED_VARIABLE] !== '1') return;
  process.stdin.once('end', gone).once('error', gone).resume();
  process.stdin.unref?.();
}

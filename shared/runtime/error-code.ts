import { constants } from 'node:os';

/** The code of a system error, such as ENOENT; empty if it has none. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return '';
  // Node knows no code for a disk quota that is used up, only its number.
  return 'errno' in error && error.errno === -constants.errno.EDQUOT ? 'EDQUOT' : String(error.code);
}

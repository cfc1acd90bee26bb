import { codeOf } from '../../../shared/runtime/error-code.ts';
import { describeFileError } from '../store/directory-access.ts';
import { IssueError } from './issue-error.ts';

/** Codes of errors that end when there is space again. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/** A failure of the certificate directory during an order for this name: nothing is wrong with the authority or the name. */
export function storeError(name: string, error: unknown): IssueError {
  const code = codeOf(error);
  const remedy = FULL.has(code) ? 'free some space there, or ' : '';
  return new IssueError(
    'local',
    `${name}: the certificate directory can't be used (${describeFileError(error)}${placeOf(error)}); ${remedy}name another one with --cert-dir PATH`,
  );
}

/** Resolves when something has been written to the certificate directory. @throws IssueError */
export async function inStore(name: string, written: Promise<void>): Promise<void> {
  try {
    await written;
  } catch (error) {
    throw storeError(name, error);
  }
}

/** The path that an error is about, since other parts of the directory may be in order; empty for the check of the directory itself. */
function placeOf(error: unknown): string {
  const isKnown = error instanceof Error && 'path' in error && typeof error.path === 'string';
  return !isKnown || ('syscall' in error && error.syscall === 'mkdtemp') ? '' : `: ${error.path}`;
}

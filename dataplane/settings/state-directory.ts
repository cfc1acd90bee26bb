import { existsSync, mkdirSync, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DEFAULT_STATE_DIR, NAME } from '../../shared/name.ts';
import { UsageError } from '../../shared/runtime/flags.ts';

/**
 * Makes the state directory (mode 0700) if it is missing and sees that it can be written. A full disk
 * passes: what was saved can still be served, and each save says for itself that it failed.
 * @throws UsageError naming the directory, the reason and `--state-dir`.
 */
export function prepareStateDir(path: string): void {
  try {
    makeDirectory(resolve(path));
    // Trying beats asking: access(2) answers for the real user, not for the effective one.
    rmdirSync(mkdtempSync(join(path, '.writable-')));
  } catch (error) {
    if (codeOf(error) === 'ENOSPC') return;
    const advice =
      path === DEFAULT_STATE_DIR ? 'run as root or name another one with --state-dir PATH' : 'name another one with --state-dir PATH';
    throw new UsageError(`${NAME} dataplane: can't write the state directory ${path} (${reasonOf(error)}); ${advice}`);
  }
}

/** One level at a time: the recursive form of mkdir never returns where a file system answers ENOENT for everything, as /proc does. */
function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  if (!existsSync(dirname(path))) makeDirectory(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is no directory',
  EEXIST: 'it is no directory',
  ENOENT: 'no directory can be made there',
};

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  return REASONS[code] ?? (code || String(error));
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '');

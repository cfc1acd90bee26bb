import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DEFAULT_STATE_DIR, NAME } from '../../shared/name.ts';
import { codeOf } from '../../shared/runtime/error-code.ts';
import { USAGE_EXIT, UsageError } from '../../shared/runtime/flags.ts';

/**
 * Creates the state directory (mode 0700) if it is missing and checks that it is writable. A full disk
 * is accepted: the saved state can still be served, and each failed save is reported. For the same reason, a directory that can't be written,
 * perhaps because its disk fails, is accepted if it has `table`, which can be read.
 * @returns why it can't be written; null if it can, or its disk is full.
 * @throws UsageError naming the directory, the reason and `--state-dir`.
 */
export function prepareStateDir(path: string, table: string): string | null {
  try {
    makeDirectory(resolve(path));
    // access(2) checks the real user instead of the effective one, so try to create something.
    rmdirSync(mkdtempSync(join(path, '.writable-')));
    return null;
  } catch (error) {
    if (FULL.has(codeOf(error))) return null;
    if (UNWRITABLE.has(codeOf(error)) && isReadable(join(path, table))) return reasonOf(error);
    const advice =
      path === DEFAULT_STATE_DIR ? 'run as root or name another one with --state-dir PATH' : 'name another one with --state-dir PATH';
    throw new UsageError(`${NAME} dataplane: can't write the state directory ${path} (${reasonOf(error)}); ${advice}`, exitCodeOf(error));
  }
}

/** Errors that last until someone corrects the setting or the directory. Others, such as those of a disk that fails, may be over by themselves. */
const LASTING: ReadonlySet<string> = new Set([
  ...['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ELOOP', 'ENAMETOOLONG', 'EINVAL'],
  // Not an error of the system.
  '',
]);

/** The exit code of a data plane that can't start because of this error. A service manager starts it again unless it lasts. */
export const exitCodeOf = (error: unknown): number => (LASTING.has(codeOf(error)) ? USAGE_EXIT : 1);

const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);
const UNWRITABLE: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'EIO']);

function isReadable(path: string): boolean {
  try {
    closeSync(openSync(path, 'r'));
    return true;
  } catch {
    return false;
  }
}

/** One level at a time: recursive mkdir never returns on a file system that answers ENOENT for everything, as /proc does. */
function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  if (!existsSync(dirname(path))) makeDirectory(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EIO: 'the disk fails',
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'it is not a directory',
  ENOENT: 'no directory can be created there',
};

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  return REASONS[code] ?? (code || String(error));
}

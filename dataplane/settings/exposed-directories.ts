import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { codeOf } from '../../shared/runtime/error-code.ts';

/** A directory whose content other users must not be able to replace. */
export type SensitiveDirectory = { readonly what: string; readonly path: string };

/** The user of this process; null on systems without user ids. */
export type User = { readonly uid: number; readonly groups: readonly number[] } | null;

const ROOT = 0;
const OTHERS_WRITE = 0o002;
const GROUP_WRITES = 0o020;

/** The effective user and groups of this process. */
export function currentUser(): User {
  const { geteuid, getegid, getgroups } = process;
  return geteuid && getegid && getgroups ? { uid: geteuid(), groups: [getegid(), ...getgroups()] } : null;
}

/**
 * Warns about directories that other users can write to, with the command that fixes it: they could replace the table, a key
 * or a certificate. Missing directories and read-only file systems cause no warning.
 */
export function exposedDirectories(directories: readonly SensitiveDirectory[], user: User = currentUser()): string[] {
  if (user === null) return [];
  return directories.flatMap(({ what, path }) => {
    const at = resolve(path);
    const stats = statSync(at, { throwIfNoEntry: false });
    const who = stats?.isDirectory() && isWritable(at) ? othersAccess(stats, user) : null;
    if (who === null) return [];
    return [
      `${what} ${at} ${who} (mode ${((stats?.mode ?? 0) & 0o7777).toString(8).padStart(4, '0')}): they can replace its content; ${adviceOn(at, user)}`,
    ];
  });
}

function othersAccess({ uid, gid, mode }: Stats, user: NonNullable<User>): string | null {
  if ((mode & OTHERS_WRITE) !== 0) return 'can be written by every user of this machine';
  if (uid !== user.uid && uid !== ROOT) return `belongs to another user, with the id ${uid}`;
  if ((mode & GROUP_WRITES) !== 0 && gid !== ROOT && !user.groups.includes(gid))
    return `can be written by another group, with the id ${gid}`;
  return null;
}

const adviceOn = (path: string, { uid }: NonNullable<User>): string => `run: chown ${uid} ${path} && chmod 0700 ${path}`;

/** A read-only file system, as of mounted secrets, can't be written regardless of its modes. */
function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch (error) {
    return codeOf(error) !== 'EROFS';
  }
}

import { closeSync, constants, fchmodSync, openSync } from 'node:fs';

/**
 * Creates a file that only its owner can read, or makes an existing one so: for databases, which SQLite would otherwise create with the
 * umask's mode. SQLite gives its other files the mode of this one.
 * @throws ELOOP if the path is a symbolic link, which SQLite would follow out of the directory.
 */
export function makePrivateFile(path: string): void {
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  try {
    fchmodSync(file, 0o600);
  } finally {
    closeSync(file);
  }
}

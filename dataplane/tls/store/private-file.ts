import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../../../shared/runtime/error-code.ts';

/**
 * Opens a file that must not exist yet: a planted file, above all a symbolic link to another file of the machine, is an
 * error and not written to. O_EXCL alone covers links, but not on every network file system.
 */
export const FRESH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Writes a file of mode 0600. Its content is on disk when this resolves; its name only once the folder is synced. */
export async function writePrivate(path: string, text: string): Promise<void> {
  // A leftover of a crash would keep its mode.
  rmSync(path, { force: true });
  const file = await open(path, FRESH, 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    discard(path);
    throw error;
  } finally {
    await file.close();
  }
}

/** Replaces a file of mode 0600 atomically, by way of the temporary file `beside`. Not synced: a power cut may lose it. */
export function replacePrivate(path: string, beside: string, text: string): void {
  writeFresh(beside, text, 0o600);
  renameSync(beside, path);
}

/** Writes a new file, replacing any leftover of a crash, with exactly this mode, regardless of the umask. */
export function writeFresh(path: string, text: string, mode: number): void {
  rmSync(path, { force: true });
  const file = openSync(path, FRESH, mode);
  try {
    fchmodSync(file, mode);
    writeFileSync(file, text);
  } catch (error) {
    discard(path);
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Deletes what a failed write left, which is of no use and may take up the last space of a full disk. */
export function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The failure of the write says what is wrong with the disk.
  }
}

/** The text of a file; null if there is none. @throws the system's error. */
export function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Files created, deleted or renamed in a folder are durable when this resolves. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Creates a folder of mode 0700 and its parents, one level at a time: recursive mkdir never returns on a file system
 * that answers ENOENT for everything, as /proc does. @throws the system's error.
 */
export function makePrivateFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const code = codeOf(error);
    const above = dirname(path);
    if (code === 'EEXIST' && statSync(path).isDirectory()) return;
    if (code !== 'ENOENT' || existsSync(above)) throw error;
    makePrivateFolder(above);
    makePrivateFolder(path);
  }
}

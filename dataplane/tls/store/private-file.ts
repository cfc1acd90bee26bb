import { closeSync, constants, existsSync, fchmodSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * A file that nobody else has put there: what is planted at its name, a link to another file of the machine above all, is
 * an error and not written to. O_EXCL alone says so for links, but not on every network file system.
 */
export const FRESH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Writes a file of mode 0600 whose bytes are on disk when this resolves; its name is once its folder is synced. */
export async function writePrivate(path: string, text: string): Promise<void> {
  // One that a crash left behind would keep its mode.
  rmSync(path, { force: true });
  const file = await open(path, FRESH, 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Writes a file of mode 0600 beside `path` first, so that nobody sees half of it. A power cut may cost it. */
export function replacePrivate(path: string, beside: string, text: string): void {
  writeFresh(beside, text, 0o600);
  renameSync(beside, path);
}

/** Writes a file anew, in place of what a crash left behind, with exactly this mode whatever the umask of the process. */
export function writeFresh(path: string, text: string, mode: number): void {
  rmSync(path, { force: true });
  const file = openSync(path, FRESH, mode);
  try {
    fchmodSync(file, mode);
    writeFileSync(file, text);
  } finally {
    closeSync(file);
  }
}

/** Files that came, went or were renamed in a folder are so on disk when this resolves. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Makes a folder for its owner alone, with those above it. One level at a time: the recursive form of mkdir never
 * returns where a file system answers ENOENT for everything, as /proc does. @throws the system's error.
 */
export function makePrivateFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    const above = dirname(path);
    if (code === 'EEXIST' && statSync(path).isDirectory()) return;
    if (code !== 'ENOENT' || existsSync(above)) throw error;
    makePrivateFolder(above);
    makePrivateFolder(path);
  }
}

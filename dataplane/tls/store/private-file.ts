import { mkdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** Writes a file of mode 0600 whose bytes are on disk when this resolves; its name is once its folder is synced. */
export async function writePrivate(path: string, text: string): Promise<void> {
  // One that a crash left behind would keep its mode.
  rmSync(path, { force: true });
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
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

/** Makes a folder for its owner alone, with those above it. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

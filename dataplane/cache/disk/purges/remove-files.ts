import { existsSync, readdirSync, renameSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import { CACHE_FOLDER } from '../disk-tier.ts';
import { isOwnFile } from '../own-files.ts';

/**
 * Deletes the files of a cache that is no longer kept on disk. Changes from now on are not reflected in them, so they must not be found if
 * the cache is kept on disk again: they are renamed at once, and deleted in the background.
 */
export async function removeFiles(stateDir: string, now: number, log: Log): Promise<void> {
  const folder = join(stateDir, CACHE_FOLDER);
  if (!existsSync(folder)) return;
  const failed = (error: unknown): void => log.warn({ path: folder, error: String(error) }, 'the files of the cache could not be deleted');
  try {
    for (const name of readdirSync(folder))
      if (/^v\d+$/.test(name)) renameSync(join(folder, name), join(folder, `old-${process.pid}-${now}-${name}`));
  } catch (error) {
    return failed(error);
  }
  await removeOwn(folder).catch(failed);
}

/** Errors for a folder that is a symbolic link to another disk, is one, or has files of others: it stays. */
const STAYS = new Set<string | undefined>(['ENOTDIR', 'EBUSY', 'ENOTEMPTY']);

async function removeOwn(folder: string): Promise<void> {
  for (const name of readdirSync(folder).filter(isOwnFile)) await rm(join(folder, name), { recursive: true, force: true });
  await rmdir(folder).catch((error: NodeJS.ErrnoException) => (STAYS.has(error.code) ? undefined : Promise.reject(error)));
}

import fs from 'node:fs';
import type { DiskAccess } from './disk.ts';
import type { FilePath } from './file-path.ts';
import { find } from './find.ts';
import { closePath, type OpenFile, refusalOf } from './open.ts';
import type { Settings } from './settings.ts';

/** A small file as a whole. */
export type WholeFile = { readonly name: string; readonly body: Buffer };

/** Reads a file of up to `largest` bytes; null if there is no such file, or if it can't be read. */
export async function readWhole(settings: Settings, disk: DiskAccess, path: FilePath, largest: number): Promise<WholeFile | null> {
  const found = await find(settings, disk, path, true, '');
  if ('listing' in found) closePath(disk, found.listing);
  if (!('file' in found)) return null;
  const { file, name } = found;
  try {
    return file.size > largest ? null : { name, body: await contents(disk, file) };
  } catch (error) {
    refusalOf(error);
    return null;
  } finally {
    disk.close(file.fd);
  }
}

/** If the file has become shorter meanwhile, the rest of it. */
export async function contents(disk: DiskAccess, { fd, size }: OpenFile): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(size);
  for (let length = 0; ; ) {
    const more = length === size ? 0 : await disk.run<number>((done) => fs.read(fd, buffer, length, size - length, length, done));
    if (more === 0) return buffer.subarray(0, length);
    length += more;
  }
}

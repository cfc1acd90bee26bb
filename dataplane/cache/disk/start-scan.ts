import { codeOf } from '../../../shared/runtime/error-code.ts';
import type { DiskFolder } from './disk-folder.ts';
import { type DiskFs, isTransient } from './disk-fs.ts';
import { isUsable, type SavedHead } from './entry-shape.ts';
import { DamagedFileError, openEntry } from './jobs/read-job.ts';

/** How many files are examined in one step. */
const AT_ONCE = 16;

export type ScanTools = {
  readonly folder: DiskFolder;
  readonly fs: DiskFs;
  readonly now: () => number;
  /** A file that need not be examined. */
  readonly isKnown: (name: string) => boolean;
  readonly found: (name: string, head: SavedHead, bytes: number) => void;
  /** `damaged`: its content differs from what was written. */
  readonly useless: (name: string, damaged: boolean) => void;
};

/** Examines the heads of all files, some of them in each step. It throws the system's errors about the folders. */
export function* scanFiles(tools: ScanTools): Generator<void> {
  let count = 0;
  for (const names of tools.folder.names()) {
    for (const name of names) {
      if (tools.isKnown(name)) continue;
      scanFile(name, tools);
      if (++count % AT_ONCE === 0) yield;
    }
    yield;
  }
}

function scanFile(name: string, { folder, fs, now, found, useless }: ScanTools): void {
  try {
    const { file, head, size } = openEntry(folder, fs, name);
    fs.closeSync(file);
    if (isUsable(head, now())) found(name, head, size);
    else useless(name, false);
  } catch (error) {
    const damaged = error instanceof DamagedFileError;
    if (!damaged && (codeOf(error) === '' || isTransient(error))) throw error;
    if (codeOf(error) !== 'ENOENT') useless(name, damaged);
  }
}

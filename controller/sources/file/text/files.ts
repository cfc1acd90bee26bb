import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { accepted, type Parsed, refused } from '../../../../shared/values/parsed.ts';
import { expandGlob } from './glob.ts';
import { LARGEST, reasonOf, TOO_LARGE } from './read.ts';

const CHUNK = 16_384;

/** The origin of imported files. */
export type Files = {
  /** The bytes of a regular file, at most 64 MB. The reason of a refusal is for display. */
  read(path: string): Parsed<Buffer>;
  /** The regular files that match a pattern, and those that can't be looked up, sorted. Refused if its directory can't be listed. */
  glob(pattern: string): Parsed<readonly string[]>;
};

export type FilesOnDisk = Files & {
  /** Every path that was looked up, whether or not it exists: a change of any of them may change the result. */
  readonly looked: ReadonlySet<string>;
};

/** Relative paths start at `root`, by default the working directory. Nothing is cached. */
export function filesOnDisk(root = '.'): FilesOnDisk {
  const looked = new Set<string>();
  const read = (path: string): Parsed<Buffer> => {
    looked.add(path);
    try {
      return readRegular(resolve(root, path));
    } catch (error) {
      return refused(reasonOf(error));
    }
  };
  const glob = (pattern: string): Parsed<readonly string[]> => {
    const found = expandGlob(pattern, root, (directory) => looked.add(directory));
    return found.ok ? accepted(found.value.filter((path) => isRegular(resolve(root, path)))) : found;
  };
  return { read, glob, looked };
}

/** Opened without blocking, so that a pipe without a writer is rejected at once. */
function readRegular(path: string): Parsed<Buffer> {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const entry = fstatSync(file);
    if (entry.isDirectory()) return refused('it is a directory: name the files in it, as in sites/*');
    if (!entry.isFile()) return refused('it is not a regular file');
    return entry.size > LARGEST ? refused(TOO_LARGE) : readUpTo(LARGEST, file, entry.size);
  } finally {
    closeSync(file);
  }
}

/** The size of a file says nothing in /proc, or while it grows. */
function readUpTo(limit: number, file: number, expected: number): Parsed<Buffer> {
  const chunks: Buffer[] = [];
  for (let total = 0; total <= limit; ) {
    const chunk = Buffer.allocUnsafe(Math.max(expected + 1 - total, CHUNK));
    const size = readSync(file, chunk);
    if (size === 0) return accepted(Buffer.concat(chunks));
    total += size;
    chunks.push(chunk.subarray(0, size));
  }
  return refused(TOO_LARGE);
}

/** A file that can't be looked up counts as one: reading it tells why. */
function isRegular(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return true;
  }
}

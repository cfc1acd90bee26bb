import type { CacheEntry } from '../../../traffic/cache-messages.ts';
import type { DiskFolder } from '../disk-folder.ts';
import type { DiskFs } from '../disk-fs.ts';
import { digester, PRELUDE, readHead, readPrelude } from '../entry-file.ts';
import type { SavedHead } from '../entry-shape.ts';

/** How much is read in one step (bytes). */
const PIECE = 1_048_576;

/** A file whose content differs from what was written. */
export class DamagedFileError extends Error {
  constructor() {
    super('it is not what was written');
  }
}

export type OpenEntry = {
  readonly file: number;
  readonly size: number;
  readonly head: SavedHead;
  readonly bodyAt: number;
  readonly bodyDigest: Buffer;
};

/** Opens the file of a response and verifies its head. @throws DamagedFileError, or the system's error. */
export function openEntry(folder: DiskFolder, fs: DiskFs, name: string): OpenEntry {
  const file = folder.openEntry(name);
  try {
    const stats = fs.fstatSync(file);
    if (!stats.isFile()) throw new DamagedFileError();
    const { size } = stats;
    const bytes = readAt(fs, file, 0, Buffer.alloc(PRELUDE));
    const prelude = readPrelude(bytes, size);
    if (prelude === null) throw new DamagedFileError();
    const head = readHead(prelude, readAt(fs, file, PRELUDE, Buffer.alloc(prelude.headLength)), name);
    if (head === null) throw new DamagedFileError();
    return { file, size, head, bodyAt: PRELUDE + prelude.headLength, bodyDigest: prelude.bodyDigest };
  } catch (error) {
    fs.closeSync(file);
    throw error;
  }
}

/** @throws DamagedFileError if the file ends before. */
function readAt(fs: DiskFs, file: number, position: number, into: Buffer): Buffer {
  for (let at = 0; at < into.length; ) {
    const read = fs.readSync(file, into, at, into.length - at, position + at);
    if (read === 0) throw new DamagedFileError();
    at += read;
  }
  return into;
}

/** Reads a response into memory that all threads share, a piece in each step, so that a large response does not delay others. */
export class ReadJob {
  readonly head: SavedHead;
  private readonly fs: DiskFs;
  private readonly opened: OpenEntry;
  private readonly body: SharedArrayBuffer;
  private readonly digest = digester();
  private at = 0;

  /** @throws DamagedFileError, or the system's error. */
  constructor(folder: DiskFolder, fs: DiskFs, name: string) {
    this.fs = fs;
    this.opened = openEntry(folder, fs, name);
    this.head = this.opened.head;
    this.body = new SharedArrayBuffer(this.head.length);
  }

  /** @returns whether everything has been read. @throws DamagedFileError, or the system's error. */
  step(): boolean {
    const { file, bodyAt, bodyDigest } = this.opened;
    const piece = Buffer.from(this.body, this.at, Math.min(PIECE, this.head.length - this.at));
    this.digest.update(readAt(this.fs, file, bodyAt + this.at, piece));
    this.at += piece.length;
    if (this.at < this.head.length) return false;
    if (!this.digest.digest().equals(bodyDigest)) throw new DamagedFileError();
    return true;
  }

  entry(id: number, key: string): CacheEntry {
    const { keyDigest: _, ...head } = this.head;
    return { ...head, id, bodyId: id, key, body: head.length === 0 ? [] : [this.body] };
  }

  close(): void {
    this.fs.closeSync(this.opened.file);
  }
}

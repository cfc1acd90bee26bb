import type { CacheEntry } from '../../../traffic/cache-messages.ts';
import type { DiskFolder } from '../disk-folder.ts';
import type { DiskFs } from '../disk-fs.ts';
import { digester, nameOf, PRELUDE, writePrelude } from '../entry-file.ts';
import { headOf, type SavedHead } from '../entry-shape.ts';

/** How much is written in one step (bytes). */
const PIECE = 262_144;

/** Writes a response, a piece in each step. Its file has no name until it is complete. */
export class WriteJob {
  readonly entry: CacheEntry;
  readonly saved: SavedHead;
  readonly name: string;
  /** Of the file (bytes). */
  readonly size: number;
  private readonly folder: DiskFolder;
  private readonly fs: DiskFs;
  private readonly head: Buffer;
  private readonly digest = digester();
  private temporary: ReturnType<DiskFolder['createTemporary']> | null = null;
  private closed = false;
  private piece = 0;
  private inPiece = 0;
  private at: number;

  constructor(folder: DiskFolder, fs: DiskFs, entry: CacheEntry) {
    this.folder = folder;
    this.fs = fs;
    this.entry = entry;
    this.saved = headOf(entry);
    this.name = nameOf(this.saved);
    this.head = Buffer.from(JSON.stringify(this.saved));
    this.at = PRELUDE + this.head.length;
    this.size = this.at + entry.length;
  }

  get headLength(): number {
    return this.head.length;
  }

  /** @returns whether it is complete and has its name. @throws the system's error. */
  step(): boolean {
    this.temporary ??= this.folder.createTemporary();
    const { file, path } = this.temporary;
    const memory = this.entry.body[this.piece];
    if (memory !== undefined) {
      const bytes = Buffer.from(memory, this.inPiece, Math.min(PIECE, memory.byteLength - this.inPiece));
      this.writeAt(file, this.at, bytes);
      this.digest.update(bytes);
      this.at += bytes.length;
      this.inPiece += bytes.length;
      if (this.inPiece < memory.byteLength) return false;
      this.piece++;
      this.inPiece = 0;
      if (this.piece < this.entry.body.length) return false;
    }
    this.writeAt(file, 0, Buffer.concat([writePrelude(this.head, this.entry.length, this.digest.digest()), this.head]));
    // Some file systems only report a full disk at this point. The file is closed even then.
    this.closed = true;
    this.fs.closeSync(file);
    this.folder.commit(path, this.name);
    this.temporary = null;
    return true;
  }

  private writeAt(file: number, position: number, bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at += this.fs.writeSync(file, bytes, at, bytes.length - at, position + at);
  }

  /** Deletes the incomplete file. @throws the system's error. */
  abandon(): void {
    const { temporary } = this;
    if (temporary === null) return;
    this.temporary = null;
    try {
      if (!this.closed) this.fs.closeSync(temporary.file);
    } finally {
      this.folder.removeTemporary(temporary.path);
    }
  }
}

import { constants } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '../../../../shared/runtime/error-code.ts';
import type { Purge } from '../../../../shared/wire/purge.ts';
import type { DiskFs } from '../disk-fs.ts';

/** How much is read at once (bytes). */
const PIECE = 65_536;

/** Purges that have not been applied to the files yet, one per line of a file. Its methods throw the system's errors. */
export class PurgeJournal {
  private readonly path: string;
  private readonly fs: DiskFs;
  private file: number | null = null;
  private unsaved = false;
  private created = false;
  /** How far it has been read, and the beginning of a line that was not complete. */
  private at = 0;
  private rest = '';

  constructor(path: string, fs: DiskFs) {
    this.path = path;
    this.fs = fs;
  }

  add(purge: Purge): void {
    if (this.file === null) {
      this.file = this.fs.openSync(this.path, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW, 0o600);
      this.created = true;
      // An earlier process may have been stopped in the middle of a line.
      this.write('\n');
    }
    this.write(`${JSON.stringify(purge)}\n`);
  }

  private write(text: string): void {
    const bytes = Buffer.from(text);
    if (this.fs.writeSync(this.file as number, bytes, 0, bytes.length, null) !== bytes.length)
      throw new Error('a line was not written whole');
    this.unsaved = true;
  }

  sync(): void {
    if (this.file === null || !this.unsaved) return;
    this.fs.fsyncSync(this.file);
    if (this.created) this.syncFolder();
    this.unsaved = false;
    this.created = false;
  }

  private syncFolder(): void {
    const folder = this.fs.openSync(dirname(this.path), constants.O_RDONLY);
    try {
      this.fs.fsyncSync(folder);
    } finally {
      this.fs.closeSync(folder);
    }
  }

  /** The purges that have been added since the last call, by any process. */
  read(): Purge[] {
    let file: number;
    try {
      file = this.fs.openSync(this.path, constants.O_RDONLY | constants.O_NOFOLLOW);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
    try {
      const { size } = this.fs.fstatSync(file);
      if (size < this.at) this.at = 0;
      const purges: Purge[] = [];
      for (let more = true; more; ) more = this.readPiece(file, purges);
      return purges;
    } finally {
      this.fs.closeSync(file);
    }
  }

  /** @returns whether there may be more. */
  private readPiece(file: number, purges: Purge[]): boolean {
    const bytes = Buffer.alloc(PIECE);
    const read = this.fs.readSync(file, bytes, 0, PIECE, this.at);
    this.at += read;
    // A character may be split between two pieces; as Latin-1, its bytes stay unchanged.
    const lines = (this.rest + bytes.toString('latin1', 0, read)).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      const purge = purgeFrom(Buffer.from(line, 'latin1').toString('utf8'));
      if (purge !== null) purges.push(purge);
    }
    return read > 0;
  }

  /** Its purges have been applied. */
  remove(): void {
    this.close();
    this.at = 0;
    this.rest = '';
    try {
      this.fs.unlinkSync(this.path);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }

  close(): void {
    if (this.file !== null) this.fs.closeSync(this.file);
    this.file = null;
    this.unsaved = false;
  }
}

/** null for a line that was not written to its end: its purge was not acknowledged. */
function purgeFrom(line: string): Purge | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { kind, host, target, prefix, tag } = value as Record<string, unknown>;
  if (kind === 'tag' && typeof tag === 'string') return { kind, tag };
  if (typeof host !== 'string') return null;
  if (kind === 'target' && typeof target === 'string') return { kind, host, target };
  return kind === 'prefix' && typeof prefix === 'string' ? { kind, host, prefix } : null;
}

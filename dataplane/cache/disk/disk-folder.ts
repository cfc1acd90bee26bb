import { constants } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../../../shared/runtime/error-code.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import type { DiskFs } from './disk-fs.ts';
import { FOLDERS } from './own-files.ts';

/** The format of the files has its own folder; those of other versions are deleted, since purges did not reach them. */
const VERSION = 'v1';
const NAME = /^[0-9a-f]{64}$/;
const TEMPORARY = 'writing';
const SHARD = /^[0-9a-f]{2}$/;
const OTHER_USERS = 0o077;
/** Always left free for the table, certificates and logs (bytes). */
const MIN_FREE = 67_108_864;
/** Bytes written to test whether the disk can be used again. */
const PROBE = 4_096;

/** The folder of the files, with one below for each first byte of their names. Its methods throw the system's errors. */
export class DiskFolder {
  private readonly fs: DiskFs;
  private readonly above: string;
  private readonly path: string;
  private readonly dirty = new Set<string>();
  private lastTemporary = 0;
  /** Files that are being written. */
  private readonly temporaries = new Set<string>();

  constructor(path: string, fs: DiskFs) {
    this.fs = fs;
    this.above = path;
    this.path = join(path, VERSION);
  }

  /** Creates what is missing of it. */
  open(): void {
    for (const path of [this.above, this.path, join(this.path, TEMPORARY)]) this.make(path);
    const { uid, mode } = this.fs.lstatSync(this.path);
    if (process.geteuid !== undefined && uid !== process.geteuid()) throw new Error(`it belongs to another user, with the id ${uid}`);
    if ((mode & OTHER_USERS) !== 0) this.fs.chmodSync(this.path, 0o700);
  }

  private make(path: string): void {
    try {
      this.fs.mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }

  /** It may be anything, for example a named pipe, which is not waited for. @throws ENOENT if there is none. */
  openEntry(name: string): number {
    return this.fs.openSync(this.pathOf(name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  }

  /** A new file that is not yet found under its name. */
  createTemporary(): { readonly file: number; readonly path: string } {
    const { bavail, bsize } = this.fs.statfsSync(this.path);
    if (bavail * bsize < MIN_FREE) throw Object.assign(new Error('less than 64 MB of the disk are free'), { code: 'ENOSPC' });
    const path = join(this.path, TEMPORARY, `${process.pid}-${++this.lastTemporary}`);
    this.temporaries.add(path);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
    return { file: this.fs.openSync(path, flags, 0o600), path };
  }

  /** Gives a file its name, in place of an older one. */
  commit(temporary: string, name: string): void {
    try {
      this.fs.renameSync(temporary, this.pathOf(name));
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EISDIR') this.moveAside(this.pathOf(name));
      else if (code === 'ENOENT') this.make(join(this.path, name.slice(0, 2)));
      else throw error;
      this.fs.renameSync(temporary, this.pathOf(name));
    }
    this.temporaries.delete(temporary);
  }

  /** Tests the disk with every operation that a write needs. */
  probe(): void {
    const { file, path } = this.createTemporary();
    try {
      try {
        this.fs.writeSync(file, Buffer.alloc(PROBE), 0, PROBE, 0);
      } finally {
        this.fs.closeSync(file);
      }
    } finally {
      this.removeTemporary(path);
    }
    this.fs.renameSync(join(this.path, TEMPORARY), join(this.path, TEMPORARY));
  }

  removeTemporary(path: string): void {
    this.temporaries.delete(path);
    this.unlink(path);
  }

  /** Deletes a file, if there is one. With `durably`, the deletion survives a power failure once `sync` has returned. */
  remove(name: string, durably: boolean): void {
    try {
      this.unlink(this.pathOf(name));
    } catch (error) {
      // Someone has put a directory there: one that stayed would keep all other files from being deleted.
      if (!this.isDirectory(this.pathOf(name))) throw error;
      this.moveAside(this.pathOf(name));
    }
    if (durably) this.dirty.add(name.slice(0, 2));
  }

  sync(): void {
    for (const shard of [...this.dirty]) {
      this.syncWhatIsLeft(join(this.path, shard));
      this.dirty.delete(shard);
    }
  }

  /** If someone has removed a folder with all of its files, that is what must survive a power failure. */
  private syncWhatIsLeft(path: string): void {
    try {
      this.syncFolder(path);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      this.syncWhatIsLeft(dirname(path));
    }
  }

  /** The names of all files, one folder at a time. */
  *names(): Generator<string[]> {
    for (const shard of this.fs.readdirSync(this.path).filter((name) => SHARD.test(name)))
      yield this.fs.readdirSync(join(this.path, shard)).filter((name) => NAME.test(name) && name.startsWith(shard));
  }

  /** Moves all files out of the way at once; `leftovers` deletes them. */
  setAside(): void {
    this.moveAside(this.path);
    this.syncFolder(this.above);
    this.dirty.clear();
  }

  private moveAside(path: string): void {
    try {
      this.fs.renameSync(path, join(this.above, `old-${systemRandom.hex(8)}`));
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }

  private isDirectory(path: string): boolean {
    try {
      return this.fs.lstatSync(path).isDirectory();
    } catch {
      return false;
    }
  }

  private syncFolder(path: string): void {
    const folder = this.fs.openSync(path, constants.O_RDONLY);
    try {
      this.fs.fsyncSync(folder);
    } finally {
      this.fs.closeSync(folder);
    }
  }

  /** Deletes what earlier processes left behind, one file at a time: temporary files, other versions, and files that were moved aside. */
  *leftovers(): Generator<void> {
    const writing = join(this.path, TEMPORARY);
    for (const name of this.list(writing)) {
      // An earlier process may have had the same number.
      if (!this.temporaries.has(join(writing, name))) this.unlink(join(writing, name));
      yield;
    }
    for (const name of this.list(this.above)) if (FOLDERS.test(name) && name !== VERSION) yield* this.removeTree(join(this.above, name));
  }

  private *removeTree(path: string): Generator<void> {
    for (const name of this.list(path)) {
      const inside = join(path, name);
      if (this.fs.lstatSync(inside).isDirectory()) yield* this.removeTree(inside);
      else this.unlink(inside);
      yield;
    }
    this.fs.rmdirSync(path);
  }

  private list(path: string): string[] {
    try {
      return this.fs.readdirSync(path);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  private unlink(path: string): void {
    try {
      this.fs.unlinkSync(path);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }

  private pathOf(name: string): string {
    return join(this.path, name.slice(0, 2), name);
  }
}

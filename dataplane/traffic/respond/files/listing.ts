import fs from 'node:fs';
import { type DiskAccess, DiskTimeout } from './disk.ts';
import type { Hidden } from './hidden.ts';
import { type ListingEntry, listingHtml } from './listing-page.ts';
import { byName } from './name-order.ts';
import { refusalOf } from './open.ts';

/** Names on a page. */
const PER_PAGE = 1_000;
/** The maximum number of names of a directory that are read, hidden ones included. */
const MAX_READ = 100_000;
/** Names that are read in one operation. */
const PER_READ = 500;
/** Directories that a file server reads at once in a worker: the names of a large one take 20 MB. */
const MAX_AT_ONCE = 2;

type Name = { readonly name: string; readonly isDirectory: boolean; readonly isLink: boolean };
type Request = { readonly names: readonly string[]; readonly hasParent: boolean; readonly page: number };

/** The pages of one file server with the names in its directories. */
export class Listings {
  private readonly hidden: Hidden;
  private free = MAX_AT_ONCE;
  private readonly waiting: (() => void)[] = [];

  constructor(hidden: Hidden) {
    this.hidden = hidden;
  }

  /** A page of an open directory; empty if the response is no longer needed. Throws errors of the file system. */
  async page(disk: DiskAccess, fd: number, request: Request): Promise<Buffer> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return disk.over ? Buffer.alloc(0) : Buffer.from(await this.html(disk, fd, request));
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.free++;
      else next();
    }
  }

  private async html(disk: DiskAccess, fd: number, { names, hasParent, page }: Request): Promise<string> {
    const path = process.platform === 'linux' ? `/proc/self/fd/${fd}` : `/dev/fd/${fd}`;
    const { found, complete } = await this.read(disk, path, names);
    const sorted = await byName(found, () => disk.over);
    if (sorted === null) return '';
    const all = [...sorted.filter(({ isDirectory }) => isDirectory), ...sorted.filter(({ isDirectory }) => !isDirectory)];
    const pages = Math.max(1, Math.ceil(all.length / PER_PAGE));
    const shown = Math.min(Math.max(1, page), pages);
    const entries: ListingEntry[] = [];
    for (const name of all.slice((shown - 1) * PER_PAGE, shown * PER_PAGE)) {
      const entry = await shownEntry(disk, path, name);
      if (disk.over) return '';
      if (entry !== null) entries.push(entry);
    }
    return listingHtml({ names, hasParent, entries, page: shown, pages, total: all.length, complete });
  }

  private async read(disk: DiskAccess, path: string, names: readonly string[]): Promise<{ found: readonly Name[]; complete: boolean }> {
    const found: Name[] = [];
    const directory = await OpenDirectory.at(disk, path);
    try {
      for (let count = 0; count < MAX_READ; count += PER_READ) {
        const entries = await directory.read(disk);
        for (const entry of entries) {
          const [isDirectory, isLink] = [entry.isDirectory(), entry.isSymbolicLink()];
          if ((isDirectory || isLink || entry.isFile()) && !this.hidden([...names, entry.name]))
            found.push({ name: entry.name, isDirectory, isLink });
        }
        if (entries.length < PER_READ || disk.over) return { found, complete: true };
      }
      return { found, complete: false };
    } finally {
      directory.close();
    }
  }
}

/** It is closed when the last operation has ended, even if that was given up because the disk doesn't respond. */
class OpenDirectory {
  private readonly directory: fs.Dir;
  private reading = false;
  private unwanted = false;

  private constructor(directory: fs.Dir) {
    this.directory = directory;
  }

  static async at(disk: DiskAccess, path: string): Promise<OpenDirectory> {
    const directory = await disk.run<fs.Dir>(
      (done) => fs.opendir(path, { bufferSize: PER_READ }, done),
      (late) => late.close(ignored),
    );
    return new OpenDirectory(directory);
  }

  /** Fewer than PER_READ names at the end of the directory. */
  read(disk: DiskAccess): Promise<readonly fs.Dirent[]> {
    return disk.run((done) => {
      this.reading = true;
      const entries: fs.Dirent[] = [];
      const ended = (error: NodeJS.ErrnoException | null): void => {
        this.reading = false;
        if (this.unwanted) this.directory.close(ignored);
        done(error, entries);
      };
      const next = (error: NodeJS.ErrnoException | null, entry: fs.Dirent | null): void => {
        if (entry !== null && !error) entries.push(entry);
        if (error || entry === null || this.unwanted || entries.length === PER_READ) ended(error);
        else this.directory.read(next);
      };
      this.directory.read(next);
    });
  }

  close(): void {
    this.unwanted = true;
    if (!this.reading) this.directory.close(ignored);
  }
}

const ignored = (): void => undefined;

/** The targets of links are not described, since they may be outside the root. */
async function shownEntry(disk: DiskAccess, path: string, { name, isDirectory, isLink }: Name): Promise<ListingEntry | null> {
  if (isLink) return { name, isDirectory, size: null, modified: null };
  try {
    const { size, mtimeMs } = await disk.run<fs.Stats>((done) => fs.lstat(`${path}/${name}`, done));
    return { name, isDirectory, size: isDirectory ? null : size, modified: mtimeMs };
  } catch (error) {
    if (error instanceof DiskTimeout) throw error;
    refusalOf(error);
    // It was deleted after its name was read, or can't be described.
    return null;
  }
}

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

/** A request that waits for its page, with its open directory. */
type Asker = { readonly disk: DiskAccess; readonly fd: number; readonly page: number; readonly result: PromiseWithResolvers<Buffer> };
type Directory = Omit<Request, 'page'>;
type Names = { readonly all: readonly Name[]; readonly complete: boolean };
const NOTHING = Buffer.alloc(0);

/** The pages of one file server with the names in its directories. */
export class Listings {
  private readonly hidden: Hidden;
  private free = MAX_AT_ONCE;
  private readonly turns: (() => void)[] = [];
  /** Requests that wait for their turn, by directory. They get it together, so that one client's many requests delay others only once. */
  private readonly waiting = new Map<string, Asker[]>();

  constructor(hidden: Hidden) {
    this.hidden = hidden;
  }

  /** A page of an open directory; empty if the response is no longer needed. Throws errors of the file system. */
  page(disk: DiskAccess, fd: number, { page, ...directory }: Request): Promise<Buffer> {
    const asker: Asker = { disk, fd, page, result: Promise.withResolvers() };
    const key = JSON.stringify(directory);
    const waiting = this.waiting.get(key);
    if (waiting === undefined) void this.inTurn(key, directory, [asker]);
    else waiting.push(asker);
    return asker.result.promise;
  }

  private async inTurn(key: string, directory: Directory, askers: Asker[]): Promise<void> {
    if (this.free > 0) this.free--;
    else {
      this.waiting.set(key, askers);
      await new Promise<void>((resolve) => this.turns.push(resolve));
      this.waiting.delete(key);
    }
    try {
      await this.answer(directory, askers);
    } catch (error) {
      rejectAll(askers, error);
    } finally {
      const next = this.turns.shift();
      if (next === undefined) this.free++;
      else next();
    }
  }

  /** The disk is read on behalf of the first of them. If it leaves meanwhile, the next one takes its place. */
  private async answer(directory: Directory, askers: Asker[]): Promise<void> {
    const pages = new Map<number, Buffer>();
    let names: Names | null = null;
    for (let asker = askers[0]; asker !== undefined; asker = askers[0]) {
      const { disk, fd, result } = asker;
      try {
        names ??= disk.over ? null : await this.names(disk, fd, directory);
        const shown = names === null ? 0 : shownPage(names, asker.page);
        const page =
          pages.get(shown) ?? (names === null || disk.over ? null : await this.html(disk, fd, { ...directory, page: shown }, names));
        if (page !== null && !disk.over) pages.set(shown, page);
        askers.shift();
        result.resolve(page ?? NOTHING);
      } catch (error) {
        if (!disk.over) throw error;
        askers.shift();
        result.resolve(NOTHING);
      }
    }
  }

  /** In the order of the list; null if they are no longer needed. */
  private async names(disk: DiskAccess, fd: number, { names }: Directory): Promise<Names | null> {
    const { found, complete } = await this.read(disk, pathOf(fd), names);
    const sorted = await byName(found, () => disk.over);
    if (sorted === null || disk.over) return null;
    return { all: [...sorted.filter(({ isDirectory }) => isDirectory), ...sorted.filter(({ isDirectory }) => !isDirectory)], complete };
  }

  private async html(disk: DiskAccess, fd: number, { names, hasParent, page }: Request, { all, complete }: Names): Promise<Buffer | null> {
    const entries: ListingEntry[] = [];
    for (const name of all.slice((page - 1) * PER_PAGE, page * PER_PAGE)) {
      const entry = await shownEntry(disk, pathOf(fd), name);
      if (disk.over) return null;
      if (entry !== null) entries.push(entry);
    }
    return Buffer.from(listingHtml({ names, hasParent, entries, page, pages: pagesOf(all), total: all.length, complete }));
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

const pathOf = (fd: number): string => (process.platform === 'linux' ? `/proc/self/fd/${fd}` : `/dev/fd/${fd}`);
const pagesOf = (all: readonly Name[]): number => Math.max(1, Math.ceil(all.length / PER_PAGE));
const shownPage = ({ all }: Names, wanted: number): number => Math.min(Math.max(1, wanted), pagesOf(all));

function rejectAll(askers: Asker[], error: unknown): void {
  for (const { result } of askers.splice(0)) result.reject(error);
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

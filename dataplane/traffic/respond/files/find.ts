import { type DiskAccess, DiskTimeout } from './disk.ts';
import type { FilePath } from './file-path.ts';
import type { Listings } from './listing.ts';
import { closePath, codeOf, type OpenFile, type OpenResult, openBelow, refusalOf } from './open.ts';
import { preferred, type Settings } from './settings.ts';

type RefusedFile = Extract<OpenResult, { refused: string }>;

/** What was found for a request. Descriptors are open, and belong to the caller. */
export type FindResult =
  | { readonly file: OpenFile; readonly name: string; readonly coding: string | null }
  /** A directory to list. */
  | { readonly listing: number; readonly names: readonly string[]; readonly by: Listings }
  /** A directory that was requested without its slash. */
  | { readonly redirect: true }
  | { readonly status: number }
  | RefusedFile;

const EXTENSIONS = { zstd: '.zst', br: '.br', gzip: '.gz' };
const MISSING: RefusedFile = { refused: 'missing', reason: 'there is no such file' };

/** A request for a file. */
export type FileRequest = {
  readonly fields: string;
  /** Whether the path that the client sent ends with a slash. */
  readonly slash: boolean;
  /** Whether the site has written the end of another path in its place: the index file of such a directory needs no slash. */
  readonly isWritten: boolean;
};

/** Finds and opens the file or directory for a request; `path` is null if no file can have it. */
export async function find(settings: Settings, disk: DiskAccess, path: FilePath | null, request: FileRequest): Promise<FindResult> {
  const found = await new Search(settings, disk, request).find(path);
  const isNone = 'status' in found || ('refused' in found && found.refused !== 'unavailable');
  return (isNone ? await missingRoot(settings, disk) : null) ?? found;
}

/** The failure if the root can't be read, in which case nothing below it is found; null if it can. */
async function missingRoot({ root }: Settings, disk: DiskAccess): Promise<RefusedFile | null> {
  try {
    await root.current(disk);
    return null;
  } catch (error) {
    if (error instanceof DiskTimeout) return refusalOf(error);
    refusalOf(error);
    return { refused: 'unavailable', reason: `the root ${root.path} can't be read: ${codeOf(error)}` };
  }
}

class Search {
  private readonly settings: Settings;
  private readonly disk: DiskAccess;
  private readonly request: FileRequest;

  constructor(settings: Settings, disk: DiskAccess, request: FileRequest) {
    this.settings = settings;
    this.disk = disk;
    this.request = request;
  }

  async find(path: FilePath | null): Promise<FindResult> {
    const { tried } = this.settings;
    if (tried.length === 0) return path === null ? MISSING : this.at(path);
    for (const one of tried) {
      if ('status' in one) return one;
      const place = one.at(path);
      const found = place === null ? null : await this.tried(place, path);
      if (found !== null) return found;
    }
    if (path === null || this.request.slash) return MISSING;
    const triesPath = tried.some((one) => 'at' in one && isSamePlace(one.at(path), path));
    return (triesPath ? await this.tried({ ...path, slash: true }, path) : null) ?? MISSING;
  }

  private async at({ names, slash }: FilePath): Promise<FindResult> {
    const opened = await this.open(names);
    if ('refused' in opened) return opened;
    if ('directory' in opened) return this.directory(opened.directory, names);
    if (!slash) return this.file(opened.file, names);
    this.disk.close(opened.file.fd);
    return MISSING;
  }

  /** A file, or a directory with something to show if the path ends with a slash; null for neither. */
  private async tried(path: FilePath, requested: FilePath | null): Promise<FindResult | null> {
    const { names, slash } = path;
    const opened = await this.open(names);
    if ('refused' in opened) return opened.refused === 'missing' ? null : opened;
    if ('directory' in opened && slash) return this.shown(opened.directory, names, isSamePlace(path, requested));
    if ('file' in opened && !slash) return this.file(opened.file, names);
    if ('file' in opened) this.disk.close(opened.file.fd);
    else closePath(this.disk, opened.directory);
    return null;
  }

  private open(names: readonly string[]): Promise<OpenResult> {
    return openBelow(this.disk, this.settings.root, names, this.settings.hidden);
  }

  private async directory(fd: number, names: readonly string[]): Promise<FindResult> {
    if (this.request.slash || this.request.isWritten)
      return (await this.shown(fd, names, true)) ?? { refused: 'missing', reason: 'the directory has no index file' };
    closePath(this.disk, fd);
    return { redirect: true };
  }

  /** `isRequested`: it is not in the place of another path. The index file of such a one needs no slash, but the links of a list do. */
  private async shown(fd: number, names: readonly string[], isRequested: boolean): Promise<FindResult | null> {
    const { slash, isWritten } = this.request;
    const found = await this.inside(fd, names);
    if (found === null || slash || ((isWritten || !isRequested) && !('listing' in found))) return found;
    if ('file' in found) this.disk.close(found.file.fd);
    else if ('listing' in found) closePath(this.disk, found.listing);
    return { redirect: true };
  }

  /** The index file of a directory, or the directory itself if it is listed; null for neither. */
  private async inside(fd: number, names: readonly string[]): Promise<FindResult | null> {
    for (const name of this.settings.index) {
      const opened = await this.open([...names, name]);
      if ('refused' in opened && opened.refused === 'missing') continue;
      if ('directory' in opened) {
        closePath(this.disk, opened.directory);
        continue;
      }
      closePath(this.disk, fd);
      return 'file' in opened ? this.file(opened.file, [...names, name]) : opened;
    }
    const { listings } = this.settings;
    if (listings !== null) return { listing: fd, names, by: listings };
    closePath(this.disk, fd);
    return null;
  }

  /** The compressed file beside it if the client accepts one. */
  private async file(file: OpenFile, names: readonly string[]): Promise<FindResult> {
    const name = names.at(-1) ?? '';
    let left = this.settings.precompressed;
    for (let coding = preferred(left, this.request.fields); coding !== null; coding = preferred(left, this.request.fields)) {
      const opened = await this.open([...names.slice(0, -1), name + EXTENSIONS[coding]]);
      if ('file' in opened) {
        this.disk.close(file.fd);
        return { file: opened.file, name, coding };
      }
      if ('directory' in opened) closePath(this.disk, opened.directory);
      left = left.filter((other) => other !== coding);
    }
    return { file, name, coding: null };
  }
}

const isSamePlace = (one: FilePath | null, other: FilePath | null): boolean =>
  one !== null && other !== null && one.names.join('/') === other.names.join('/');

import { closeLater } from './disk.ts';
import type { FilePath } from './file-path.ts';
import { type Opened, type OpenFile, openBelow, realRoot, refusalOf } from './open.ts';
import { preferred, type Settings } from './settings.ts';

type Refused = Extract<Opened, { refused: string }>;

/** What a request gets. Descriptors are open, and belong to the caller. */
export type Found =
  | { readonly file: OpenFile; readonly name: string; readonly coding: string | null }
  /** A directory to list. */
  | { readonly listing: number; readonly names: readonly string[] }
  /** A directory that was requested without its slash. */
  | { readonly redirect: true }
  | { readonly status: number }
  | Refused;

const EXTENSIONS = { zstd: '.zst', br: '.br', gzip: '.gz' };
const MISSING: Refused = { refused: 'missing', reason: 'there is no such file' };

/** Finds and opens what a request gets. `slash`: whether the path that the client sent ends with a slash. */
export async function find(settings: Settings, path: FilePath, slash: boolean, fields: string): Promise<Found> {
  let root: string;
  try {
    root = await realRoot(settings.root);
  } catch (error) {
    refusalOf(error);
    return { refused: 'unavailable', reason: `the root ${settings.root} can't be read: ${codeOf(error)}` };
  }
  const search = new Search(settings, root, slash, fields);
  if (settings.tried.length === 0) return search.at(path);
  for (const tried of settings.tried) {
    if ('status' in tried) return tried;
    const found = await search.tried(tried.at(path));
    if (found !== null) return found;
  }
  return MISSING;
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown');

class Search {
  private readonly settings: Settings;
  private readonly root: string;
  private readonly slash: boolean;
  private readonly fields: string;

  constructor(settings: Settings, root: string, slash: boolean, fields: string) {
    this.settings = settings;
    this.root = root;
    this.slash = slash;
    this.fields = fields;
  }

  async at({ names, slash }: FilePath): Promise<Found> {
    const opened = await this.open(names);
    if ('refused' in opened) return opened;
    if ('directory' in opened) return this.directory(opened.directory, names);
    if (!slash) return this.file(opened.file, names);
    closeLater(opened.file.fd);
    return MISSING;
  }

  /** A file, or a directory if the path ends with a slash; null for neither. */
  async tried({ names, slash }: FilePath): Promise<Found | null> {
    const opened = await this.open(names);
    if ('refused' in opened) return opened.refused === 'missing' ? null : opened;
    if ('directory' in opened && slash) return this.directory(opened.directory, names);
    if ('file' in opened && !slash) return this.file(opened.file, names);
    closeLater('file' in opened ? opened.file.fd : opened.directory);
    return null;
  }

  private open(names: readonly string[]): Promise<Opened> {
    return openBelow(this.root, names, this.settings.hidden);
  }

  private async directory(fd: number, names: readonly string[]): Promise<Found> {
    if (!this.slash) {
      closeLater(fd);
      return { redirect: true };
    }
    for (const name of this.settings.index) {
      const opened = await this.open([...names, name]);
      if ('refused' in opened && opened.refused === 'missing') continue;
      if ('directory' in opened) {
        closeLater(opened.directory);
        continue;
      }
      closeLater(fd);
      return 'file' in opened ? this.file(opened.file, [...names, name]) : opened;
    }
    if (this.settings.browse) return { listing: fd, names };
    closeLater(fd);
    return { refused: 'missing', reason: 'the directory has no index file' };
  }

  /** The compressed file beside it if the client accepts one. */
  private async file(file: OpenFile, names: readonly string[]): Promise<Found> {
    const name = names.at(-1) ?? '';
    let left = this.settings.precompressed;
    for (let coding = preferred(left, this.fields); coding !== null; coding = preferred(left, this.fields)) {
      const opened = await this.open([...names.slice(0, -1), name + EXTENSIONS[coding]]);
      if ('file' in opened) {
        closeLater(file.fd);
        return { file: opened.file, name, coding };
      }
      if ('directory' in opened) closeLater(opened.directory);
      left = left.filter((other) => other !== coding);
    }
    return { file, name, coding: null };
  }
}

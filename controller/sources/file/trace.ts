import { lstat, readlink } from 'node:fs/promises';
import { basename, dirname, join, parse, resolve } from 'node:path';
import { isMissing } from './read.ts';

/** The identity of what is not there. */
export const MISSING = 'missing';

/** What a path names right now. */
export type Traced = {
  /** Another content has another identity: a rename brings another inode, a write another time of change. */
  readonly identity: string;
  /** The directory in which it is, or in which only it is missing; null where the directory is missing too. */
  readonly within: string | null;
  /** When it was last changed or put there, by the clock of its file system (ms since 1970); 0 for what is not there. */
  readonly changedAt: number;
};

export type Trace = {
  readonly found: ReadonlyMap<string, Traced>;
  /**
   * The directories in which a change may change what the paths name: that of each file, that of every link on the
   * way, that in which the first missing part would appear. The key tells a directory from its successor.
   */
  readonly directories: ReadonlyMap<string, string>;
};

/** As many links as the kernel follows before it gives up. */
const MOST_LINKS = 40;

type Entry = Awaited<ReturnType<typeof entryOf>>;
type Walk = {
  readonly directories: Map<string, string>;
  /** Keys of directories by path. */
  readonly keys: Map<string, string>;
  /** Where paths of directories lead; null for those that lead nowhere. */
  readonly led: Map<string, string | null>;
};

/** Follows each path to what it names. Files of one directory share the way there. */
export async function trace(paths: readonly string[]): Promise<Trace> {
  const walk: Walk = { directories: new Map(), keys: new Map(), led: new Map() };
  const found = new Map<string, Traced>();
  for (const path of paths) found.set(path, await tracePath(resolve(path), walk));
  return { found, directories: walk.directories };
}

async function tracePath(path: string, walk: Walk): Promise<Traced> {
  try {
    return await follow(path, walk, 0);
  } catch (error) {
    // What may not be looked at is read all the same: the attempt says why. Its change shows in what is above it.
    await keyOf(await nearest(dirname(path)), walk);
    return { identity: `unreadable: ${String(error)}`, within: null, changedAt: 0 };
  }
}

async function follow(path: string, walk: Walk, links: number): Promise<Traced> {
  const directory = await directoryOf(dirname(path), walk, links);
  if (directory === null) return { identity: MISSING, within: null, changedAt: 0 };
  const within = await keyOf(directory, walk);
  const at = join(directory, basename(path));
  const entry = await entryOf(at);
  if (entry === null || links > MOST_LINKS) return { identity: MISSING, within, changedAt: 0 };
  if (entry.isSymbolicLink()) return follow(resolve(directory, await readlink(at)), walk, links + 1);
  if (entry.isDirectory()) await keyOf(at, walk);
  const { dev, ino, size, mtimeNs, ctimeNs } = entry;
  return { identity: `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`, within, changedAt: Number(entry.ctimeMs) };
}

/** The directory that a path leads to, links followed; null where there is none. Links on the way are noted for watching. */
async function directoryOf(path: string, walk: Walk, links: number): Promise<string | null> {
  if (path === parse(path).root) return path;
  const known = walk.led.get(path);
  if (known !== undefined) return known;
  const led = await lead(path, walk, links);
  walk.led.set(path, led);
  return led;
}

async function lead(path: string, walk: Walk, links: number): Promise<string | null> {
  const parent = await directoryOf(dirname(path), walk, links);
  if (parent === null || links > MOST_LINKS) return null;
  const at = join(parent, basename(path));
  const entry = await entryOf(at);
  if (entry?.isDirectory()) return at;
  await keyOf(parent, walk);
  return entry?.isSymbolicLink() ? directoryOf(resolve(parent, await readlink(at)), walk, links + 1) : null;
}

/** Notes a directory for watching. An inode's number is used again at once; the time of its birth is not. */
async function keyOf(directory: string, walk: Walk): Promise<string> {
  const known = walk.keys.get(directory);
  if (known !== undefined) return known;
  const entry = await entryOf(directory);
  const key = entry === null ? MISSING : `${entry.dev}:${entry.ino}:${entry.birthtimeNs}`;
  walk.keys.set(directory, key);
  if (entry !== null) walk.directories.set(key, directory);
  return key;
}

const entryOf = (path: string) =>
  lstat(path, { bigint: true }).catch((error: unknown) => (isMissing(error) ? null : Promise.reject(error)));

/** The closest directory above that is there. */
async function nearest(directory: string): Promise<string> {
  for (let at = directory; at !== dirname(at); at = dirname(at)) {
    const entry: Entry = await entryOf(at).catch(() => null);
    if (entry?.isDirectory()) return at;
  }
  return parse(directory).root;
}

import fs from 'node:fs';
import { type DiskAccess, DiskTimeout } from './disk.ts';
import type { Hidden } from './hidden.ts';
import type { Root } from './root.ts';

/** An open descriptor of a file inside the root. The receiver closes it. */
export type OpenFile = {
  readonly fd: number;
  /** Bytes. */
  readonly size: number;
  /** The time of the last modification; that of the last change of anything if a tool has set one for all files. Milliseconds since 1970. */
  readonly modified: number;
  /** Size and that time in nanoseconds. */
  readonly version: string;
  /** How it was found, and its identity. */
  readonly path: string;
  readonly stats: fs.BigIntStats;
};

/** How old the last modification must be for the next one to have another time: the coarsest clock of a file system is that of FAT (ms). */
export const SETTLED = 2_000;

const FIRST_TRUE_TIME = BigInt(Date.UTC(1990, 0)) * 1_000_000n;
/** Time zones differ by quarters of an hour, the first one by 14 hours from UTC (ns, ms). */
const QUARTER_NS = 900_000_000_000n;
const FIRST_ZONE_MS = 50_400_000;

/**
 * Whether a time (ns since 1970) is one that tools for images and packages set for all files and versions: some use 1970, 1980 or 1985,
 * others the beginning of 2000 or 2023 in their time zone. Browsers would keep an old page whose successor has the same size.
 */
function isMadeUp(time: bigint): boolean {
  if (time < FIRST_TRUE_TIME) return true;
  if (time % QUARTER_NS !== 0n) return false;
  const ms = Number(time / 1_000_000n);
  return isNewYear(new Date(ms)) || isNewYear(new Date(ms + FIRST_ZONE_MS));
}

const isNewYear = (date: Date): boolean => date.getUTCMonth() === 0 && date.getUTCDate() === 1;

/** Whether it is the same file, which has not changed. */
export const isSameFile = (one: fs.BigIntStats, other: fs.BigIntStats): boolean =>
  one.ino === other.ino &&
  one.mtimeNs === other.mtimeNs &&
  one.ctimeNs === other.ctimeNs &&
  one.size === other.size &&
  one.dev === other.dev;

/** The object at a path. `refused`: it must not be served. */
export type OpenResult =
  | { readonly file: OpenFile }
  | { readonly directory: number }
  | { readonly refused: 'missing' | 'forbidden' | 'unavailable'; readonly reason: string };

/** Opens without access to the contents, so that nothing blocks and no device is touched (open(2)). Linux only. */
const O_PATH = 0x20_0000;
const ON_LINUX = process.platform === 'linux';
const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = fs.constants;

const OUTSIDE: OpenResult = { refused: 'forbidden', reason: 'a symbolic link leads out of the root' };

/**
 * Opens the object at `names` below `root`. Links are followed, and the path of the opened file is checked afterwards, so a link that
 * changes in between makes no difference.
 */
export async function openBelow(disk: DiskAccess, root: Root, names: readonly string[], hidden: Hidden): Promise<OpenResult> {
  if (hidden(names)) return { refused: 'missing', reason: 'the name is hidden' };
  const opened = await openOnce(disk, root, names, hidden);
  // A deployment may have renamed the root in between: then the opened file has another path, and there is a new one.
  return opened === OUTSIDE ? openOnce(disk, root, names, hidden) : opened;
}

async function openOnce(disk: DiskAccess, root: Root, names: readonly string[], hidden: Hidden): Promise<OpenResult> {
  const path = `${root.path === '/' ? '' : root.path}/${names.join('/')}`;
  let fd = -1;
  try {
    // Before it is opened: a root that is switched afterwards leads elsewhere.
    const realRoot = await root.real(disk);
    fd = await disk.open(path, ON_LINUX ? O_PATH : O_RDONLY | O_NONBLOCK | O_NOCTTY);
    const opened = fd;
    const stats = await disk.run<fs.BigIntStats>((done) => fs.fstat(opened, { bigint: true }, done));
    const real = ON_LINUX ? fs.readlinkSync(`/proc/self/fd/${fd}`) : await realPathOf(disk, path, stats);
    const inside = namesInside(realRoot, real) ?? namesInside(await root.current(disk), real);
    if (inside === null) return OUTSIDE;
    if (hidden(inside) || hidden(beforeDeletion(inside))) return { refused: 'missing', reason: 'a symbolic link leads to a hidden name' };
    if (stats.isDirectory()) {
      fd = -1;
      return { directory: opened };
    }
    if (!stats.isFile()) return { refused: 'forbidden', reason: 'it is neither a file nor a directory' };
    const readable = ON_LINUX ? await disk.open(`/proc/self/fd/${opened}`, O_RDONLY | O_NONBLOCK) : opened;
    if (readable === opened) fd = -1;
    const { size, mtimeNs, ctimeNs } = stats;
    const changed = isMadeUp(mtimeNs) ? ctimeNs : mtimeNs;
    return {
      file: {
        fd: readable,
        size: Number(size),
        modified: Math.max(0, Number(changed / 1_000_000n)),
        version: `${size.toString(36)}-${changed.toString(36)}`,
        path,
        stats,
      },
    };
  } catch (error) {
    return refusalOf(error);
  } finally {
    if (fd >= 0) closePath(disk, fd);
  }
}

/** Closes a descriptor without access to the contents at once, which never waits for the disk. */
export function closePath(disk: DiskAccess, fd: number): void {
  if (ON_LINUX) fs.closeSync(fd);
  else disk.close(fd);
}

/** The names below the root; null if a path is not inside it. */
function namesInside(root: string, path: string): readonly string[] | null {
  if (path === root) return [];
  const prefix = root === '/' ? '/' : `${root}/`;
  return path.startsWith(prefix) ? path.slice(prefix.length).split('/') : null;
}

/** Linux appends a word to the path of a file that was deleted or replaced after it was opened (proc(5)). */
const DELETED = ' (deleted)';
const beforeDeletion = (names: readonly string[]): readonly string[] => {
  const last = names.at(-1);
  return last?.endsWith(DELETED) ? [...names.slice(0, -1), last.slice(0, -DELETED.length)] : [];
};

/** For systems without /proc: the real path, if it leads to exactly the file that is open. */
async function realPathOf(disk: DiskAccess, path: string, { dev, ino }: fs.BigIntStats): Promise<string> {
  const real = await disk.run<string>((done) => fs.realpath.native(path, done));
  const found = await disk.run<fs.BigIntStats>((done) => fs.lstat(real, { bigint: true }, done));
  return found.dev === dev && found.ino === ino ? real : '';
}

/** Codes of errors that mean there is no such file. */
const MISSING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);
const FORBIDDEN: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'ELOOP', 'ENXIO']);

/** An exception that does not come from the file system is passed on. */
export function refusalOf(error: unknown): Extract<OpenResult, { refused: string }> {
  if (error instanceof DiskTimeout) return { refused: 'unavailable', reason: error.message };
  const code = codeOf(error);
  if (code === null || code.startsWith('ERR_')) throw error;
  if (MISSING.has(code)) return { refused: 'missing', reason: 'there is no such file' };
  return { refused: FORBIDDEN.has(code) ? 'forbidden' : 'unavailable', reason: `the file can't be read: ${described(code)}` };
}

const described = (code: string): string =>
  code === 'EMFILE' || code === 'ENFILE' ? `${code}: the proxy has no file descriptor left` : code;

/** The code of an error; null without one. */
export const codeOf = (error: unknown): string | null => (error instanceof Error && 'code' in error ? String(error.code) : null);

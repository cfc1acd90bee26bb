import fs from 'node:fs';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { DiskAccess } from './disk.ts';
import { isSameFile, type OpenFile } from './open.ts';

/** The largest file that is kept (bytes). */
export const LARGEST_HOT = 65_536;
/** The maximum size of all files that a worker keeps (bytes), and their maximum number. */
const MAX_BYTES = 8_388_608;
const MAX_FILES = 2_000;
/** How long a file is served before it is looked up again (ms). */
const FRESH_MS = 1_000;
/** How long the type of a file system is cached (ms). */
const KNOWN_MS = 60_000;
const LONGEST_KEY = 512;

/** File systems that never wait for another machine or process (statfs(2)). */
const LOCAL: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x5846_5342, // XFS
  0x9123_683e, // Btrfs
  0x0102_1994, // tmpfs
  0x8584_58f6, // ramfs
  0x794c_7630, // overlayfs
  0xf2f5_2010, // F2FS
  0x2fc1_2fc1, // ZFS
  0xca45_1a4e, // bcachefs
  0x7371_7368, // SquashFS
  0xe0f5_e1e2, // EROFS
]);

/** A small file as it was found. */
export type HotFile = {
  readonly file: OpenFile;
  readonly name: string;
  readonly coding: string | null;
  /** null if it has not been requested yet. */
  readonly body: Buffer | null;
};

type Entry = HotFile & { readonly at: number; readonly cost: number };

/**
 * Small files that have been served in the last second. The thread pool takes several times as long as all other work for a small file, so
 * a file is served from memory while its inode, size and times are unchanged. That only needs one stat(2), which can't block, since the
 * file has just been looked up and is on a disk of this machine.
 */
export class HotFiles {
  private readonly clock: Clock;
  private readonly entries = new Map<string, Entry>();
  private readonly local = new Map<bigint, { readonly isLocal: boolean; readonly at: number }>();
  private bytes = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  find(key: string): HotFile | null {
    const entry = this.entries.get(key);
    if (entry === undefined) return null;
    if (this.clock.monotonic() - entry.at < FRESH_MS && isSame(entry.file)) return entry;
    this.remove(key, entry);
    return null;
  }

  /** Keeps a file that has just been looked up, if that is allowed. */
  async add(key: string, disk: DiskAccess, hot: HotFile): Promise<void> {
    const at = this.clock.monotonic();
    if (key.length > LONGEST_KEY || hot.file.size > LARGEST_HOT || !(await this.isLocal(disk, hot.file))) return;
    const before = this.entries.get(key);
    if (before !== undefined) this.remove(key, before);
    const cost = key.length + (hot.body?.length ?? 0);
    this.entries.set(key, { ...hot, at, cost });
    this.bytes += cost;
    for (const [oldest, entry] of this.entries) {
      if (this.bytes <= MAX_BYTES && this.entries.size <= MAX_FILES) break;
      this.remove(oldest, entry);
    }
  }

  private remove(key: string, { cost }: Entry): void {
    if (this.entries.delete(key)) this.bytes -= cost;
  }

  private async isLocal(disk: DiskAccess, { path, stats: { dev } }: OpenFile): Promise<boolean> {
    const now = this.clock.monotonic();
    const known = this.local.get(dev);
    if (known !== undefined && now - known.at < KNOWN_MS) return known.isLocal;
    if (this.local.size > 1_000) this.local.clear();
    const { type } = await disk.run<fs.StatsFs>((done) => fs.statfs(path, done));
    const isLocal = process.platform === 'linux' && LOCAL.has(type);
    this.local.set(dev, { isLocal, at: now });
    return isLocal;
  }
}

/** Whether the path still leads to the same file, which has not changed. */
function isSame({ path, stats }: OpenFile): boolean {
  try {
    const now = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
    return now !== undefined && isSameFile(now, stats);
  } catch {
    // It can't be reached any more: looking it up again finds the reason.
    return false;
  }
}

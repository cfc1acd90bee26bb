import { type FSWatcher, statSync, watch } from 'node:fs';
import type { Log } from '../../../shared/runtime/log/log.ts';

/** Further folders are only polled, since the system limits watches. */
const MAX = 1_000;

/** Reports changes in a set of folders, on a best-effort basis. */
export class FolderWatcher {
  private readonly watches = new Map<string, FSWatcher>();
  private readonly changed: () => void;
  private readonly log: Log;
  private warned = false;

  constructor(changed: () => void, log: Log) {
    this.changed = changed;
    this.log = log;
  }

  /** Watches exactly these folders. A link that now points elsewhere is followed again. @returns whether it watches another one now. */
  follow(folders: readonly string[]): boolean {
    const wanted = new Map<string, string>();
    for (const folder of folders) {
      if (wanted.size >= MAX) break;
      for (const [identity, path] of identified(folder)) wanted.set(identity, path);
    }
    for (const [identity, watcher] of this.watches) {
      if (wanted.has(identity)) continue;
      watcher.close();
      this.watches.delete(identity);
    }
    const added = [...wanted].filter(([identity, folder]) => !this.watches.has(identity) && this.add(identity, folder));
    return added.length > 0;
  }

  close(): void {
    for (const watcher of this.watches.values()) watcher.close();
    this.watches.clear();
  }

  private add(identity: string, folder: string): boolean {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.changed());
      watcher.on('error', () => {
        watcher.close();
        this.watches.delete(identity);
      });
      this.watches.set(identity, watcher);
      return true;
    } catch (error) {
      if (!this.warned)
        this.log.warn({ folder, error: String(error) }, 'the system allows no more file watches: certificates are checked once a minute');
      this.warned = true;
      return false;
    }
  }
}

/** The identity of the folder at a path, and the path; empty if there is no folder. */
function identified(folder: string): [string, string][] {
  try {
    const stats = statSync(folder);
    return stats.isDirectory() ? [[`${folder} ${stats.dev}:${stats.ino}`, folder]] : [];
  } catch {
    // It is gone or not accessible: nothing to watch.
    return [];
  }
}

import { type FSWatcher, statSync, watch } from 'node:fs';
import type { Log } from '../../../shared/runtime/log.ts';

/** More folders are only looked at from time to time: the system's watches are few. */
const MOST = 1_000;

/** Tells that something in one of some folders is different. Sees at best, never for sure. */
export class FolderWatcher {
  private readonly watches = new Map<string, FSWatcher>();
  private readonly changed: () => void;
  private readonly log: Log;
  private warned = false;

  constructor(changed: () => void, log: Log) {
    this.changed = changed;
    this.log = log;
  }

  /** Watches these folders and no others. A link that leads elsewhere by now is followed anew. */
  follow(folders: readonly string[]): void {
    const wanted = new Map(folders.slice(0, MOST).flatMap((folder) => identified(folder)));
    for (const [identity, watcher] of this.watches) {
      if (wanted.has(identity)) continue;
      watcher.close();
      this.watches.delete(identity);
    }
    for (const [identity, folder] of wanted) if (!this.watches.has(identity)) this.add(identity, folder);
  }

  close(): void {
    for (const watcher of this.watches.values()) watcher.close();
    this.watches.clear();
  }

  private add(identity: string, folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.changed());
      watcher.on('error', () => {
        watcher.close();
        this.watches.delete(identity);
      });
      this.watches.set(identity, watcher);
    } catch (error) {
      if (this.warned) return;
      this.warned = true;
      this.log.warn({ folder, error: String(error) }, 'certificates are looked at once a minute: the system gives no more watches');
    }
  }
}

/** The folder that a path leads to now, and the path; nothing where it leads nowhere. */
function identified(folder: string): [string, string][] {
  try {
    const stats = statSync(folder);
    return stats.isDirectory() ? [[`${folder} ${stats.dev}:${stats.ino}`, folder]] : [];
  } catch {
    // It went, or may not be entered: there is nothing to watch.
    return [];
  }
}

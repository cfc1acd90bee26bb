import { type FSWatcher, watch } from 'node:fs';
import type { Log } from '../../../../shared/runtime/log/log.ts';

export type Watch = {
  /** Watches exactly these directories, given by their keys. */
  use(directories: ReadonlyMap<string, string>): void;
  stop(): void;
};

/**
 * Watches directories, never a file: an editor's save replaces the file, and a ConfigMap's `..data` and git-sync replace a link on the
 * way to it. `changed` is called for anything in them, often needlessly; also when a directory is new, since earlier events in it were
 * missed. `path` is for the log.
 */
export function watchDirectories(path: string, log: Log, changed: () => void): Watch {
  const watchers = new Map<string, FSWatcher>();
  let stopped = false;
  let warned = false;

  const giveUp = (key: string, error: unknown) => {
    watchers.get(key)?.close();
    watchers.delete(key);
    if (!warned) log.warn({ path, error: String(error) }, 'the config file cannot be watched, so it is checked every two seconds');
    warned = true;
  };
  const open = (key: string, directory: string) => {
    try {
      const watcher = watch(directory, { persistent: false }, changed);
      watchers.set(key, watcher);
      watcher.on('error', (error) => giveUp(key, error));
      changed();
    } catch (error) {
      giveUp(key, error);
    }
  };

  const use = (wanted: ReadonlyMap<string, string>) => {
    if (stopped) return;
    for (const [key, watcher] of watchers) {
      if (wanted.has(key)) continue;
      watcher.close();
      watchers.delete(key);
    }
    for (const [key, directory] of wanted) if (!watchers.has(key)) open(key, directory);
  };
  const stop = () => {
    stopped = true;
    for (const watcher of watchers.values()) watcher.close();
    watchers.clear();
  };
  return { use, stop };
}

import { type FSWatcher, watch } from 'node:fs';
import { lstat, readlink, stat } from 'node:fs/promises';
import { dirname, join, parse, resolve, sep } from 'node:path';
import type { Log } from '../../../shared/runtime/log.ts';
import { isMissing } from './read.ts';

export type Watch = {
  /** Watches what has to be watched now: links may lead elsewhere, directories may have come and gone. */
  refresh(): Promise<void>;
  stop(): void;
};

/** As many links as the kernel follows before it gives up. */
const MOST_LINKS = 40;

/**
 * Watches directories, never the file: an editor's save replaces the file, a ConfigMap's `..data` and
 * git-sync replace a link on the way to it. `poke` is called on anything in them, and often for nothing.
 */
export function watchPath(path: string, log: Log, poke: () => void): Watch {
  const watchers = new Map<string, FSWatcher>();
  let stopped = false;
  let warned = false;

  const giveUp = (key: string, error: unknown) => {
    watchers.get(key)?.close();
    watchers.delete(key);
    if (!warned) log.warn({ path, error: String(error) }, 'the config file can not be watched; it is looked at every two seconds instead');
    warned = true;
  };
  const open = (key: string, directory: string) => {
    try {
      const watcher = watch(directory, { persistent: false }, poke);
      watchers.set(key, watcher);
      watcher.on('error', (error) => giveUp(key, error));
    } catch (error) {
      giveUp(key, error);
    }
  };

  const refresh = async () => {
    const wanted = await directoriesOf(path);
    if (stopped) return;
    for (const [key, watcher] of watchers) {
      if (wanted.has(key)) continue;
      watcher.close();
      watchers.delete(key);
    }
    const fresh = [...wanted].filter(([key]) => !watchers.has(key));
    for (const [key, directory] of fresh) open(key, directory);
    // What happened between the look and the watch was not notified.
    if (fresh.length > 0) poke();
  };
  const stop = () => {
    stopped = true;
    for (const watcher of watchers.values()) watcher.close();
    watchers.clear();
  };
  return { refresh, stop };
}

/**
 * The directories in which a change may change what `path` names: that of the file, that of every link on
 * the way, or that in which the first missing part would appear. The key tells a directory from its successor.
 */
async function directoriesOf(path: string): Promise<Map<string, string>> {
  const directories = new Map<string, string>();
  const add = async (directory: string) => {
    // An inode's number is used again at once; the time of its birth is not.
    const { dev, ino, birthtimeNs } = await stat(directory, { bigint: true });
    directories.set(`${dev}:${ino}:${birthtimeNs}`, directory);
  };
  let rest = partsOf(resolve(path));
  let at = parse(resolve(path)).root;
  try {
    for (let links = 0; rest.length > 0; ) {
      const [part = '', ...behind] = rest;
      const next = join(at, part);
      const entry = await lstat(next).catch((error: unknown) => (isMissing(error) ? null : Promise.reject(error)));
      if (entry === null || entry.isSymbolicLink() || behind.length === 0) await add(at);
      if (entry === null) return directories;
      if (entry.isSymbolicLink()) {
        if (++links > MOST_LINKS) return directories;
        const target = resolve(at, await readlink(next));
        rest = [...partsOf(target), ...behind];
        at = parse(target).root;
      } else {
        rest = behind;
        at = next;
      }
    }
  } catch (error) {
    // Something vanished between two looks, or may not be looked at: watch what was found so far.
    if (directories.size === 0) await add(await nearest(dirname(resolve(path)))).catch(() => undefined);
    if (!(error instanceof Error)) throw error;
  }
  return directories;
}

const partsOf = (path: string): string[] => path.split(sep).filter((part) => part !== '' && part !== parse(path).root);

/** The closest directory above that is there. */
async function nearest(directory: string): Promise<string> {
  for (let at = directory; at !== dirname(at); at = dirname(at)) {
    const there = await stat(at).then(
      (entry) => entry.isDirectory(),
      () => false,
    );
    if (there) return at;
  }
  return parse(directory).root;
}

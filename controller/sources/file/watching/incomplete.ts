import type { Clock } from '../../../../shared/runtime/clock.ts';
import { areSame, type FoundFiles } from './found-files.ts';

/** How long nothing may have been written until a file that may be incomplete counts as complete (ms) … */
export const REST_MS = 2_000;
/** … but at most this long, however often it is written (ms). */
const MAX_REST_MS = 30_000;

/**
 * Whether the rest of a file may still be to come, although what there is of it is valid: the program that writes it may pause anywhere.
 * At the end of a site the missing sites show it, and in an import, which may be part of a block, its size, if it is written in place. If
 * its directory has been replaced as well, it is complete.
 */
export function mayBeIncomplete(now: FoundFiles, before: FoundFiles, configFile: string, lacksSites: boolean): boolean {
  for (const [path, { identity, within, file }] of now) {
    const known = before.get(path);
    if (!file || !known?.file || known.within !== within || known.identity === identity) continue;
    if (lacksSites || (path !== configFile && file.inode === known.file.inode && file.size < known.file.size)) return true;
  }
  return false;
}

/** How long files may still be incomplete. */
export function createPatience(clock: Clock) {
  let waiting: { readonly since: number; readonly seen: FoundFiles; readonly seenAt: number } | undefined;
  return {
    /** `left`: how long to wait if nothing more is written (ms). */
    with(seen: FoundFiles): { left: number; isNew: boolean } {
      const now = clock.monotonic();
      const isNew = waiting === undefined;
      const { since, seenAt } = waiting ?? { since: now, seenAt: now };
      waiting = { since, seen, seenAt: waiting && areSame(seen, waiting.seen) ? seenAt : now };
      return { left: Math.min(waiting.seenAt + REST_MS, since + MAX_REST_MS) - now, isNew };
    },
    end(): void {
      waiting = undefined;
    },
  };
}

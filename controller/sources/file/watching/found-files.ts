import { type FileTrace, MISSING, type Traced } from './trace.ts';

/** The state of a file and all its imports at one time. */
export type FoundFiles = FileTrace['found'];

/** The slowest clock tick of file systems for time stamps (ms). */
const TICK_MS = 20;

/** How long file systems that count whole seconds, or every other one, may give different contents the same time (ms). */
export const COARSE_MS = 2_100;
/** A file server's clock may be off by this much (ms). */
const SKEW_MS = 3_600_000;

export const areSame = (a: FoundFiles, b: FoundFiles): boolean => a.size === b.size && haveSame(a, b);

/** Whether the inputs in both are unchanged. */
function haveSame(a: FoundFiles, b: FoundFiles): boolean {
  for (const [path, { identity }] of b) {
    const other = a.get(path);
    if (other !== undefined && other.identity !== identity) return false;
  }
  return true;
}

/**
 * Whether nothing changed during the read, from `startedAt` (ms since 1970) until `after` was observed. For an input unknown before the
 * read, only the time of its last change can show that.
 */
export function wereSteady(before: FoundFiles, after: FoundFiles, startedAt: number): boolean {
  const fresh = [...after].filter(([path]) => !before.has(path));
  return haveSame(before, after) && fresh.every(([, { changedAt }]) => changedAt < startedAt - TICK_MS);
}

/**
 * Whether a file may have changed after the read at `startedAt` without a trace, because its time has whole seconds: two saves in one
 * second look the same if they are equally long.
 */
export function mayHideChanges(found: FoundFiles, startedAt: number): boolean {
  for (const { changedAt } of found.values()) if (changedAt % 1_000 === 0 && changedAt > startedAt - SKEW_MS) return true;
  return false;
}

/**
 * Whether an existing file is missing and may return in a moment, as in a save that deletes before it writes. If its directory has been
 * replaced as well, the file was probably left out on purpose; only for the config file itself that does not count.
 */
export function lacks(now: FoundFiles, before: FoundFiles, configFile: string): boolean {
  for (const [path, seen] of now) {
    const known = before.get(path);
    if (seen.identity !== MISSING || known === undefined || known.identity === MISSING) continue;
    if (path === configFile || seen.within === null || isSamePlace(seen, known)) return true;
  }
  return false;
}

const isSamePlace = (a: Traced, b: Traced): boolean => a.within === b.within;

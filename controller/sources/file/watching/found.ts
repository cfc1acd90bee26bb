import { MISSING, type Trace, type Traced } from './trace.ts';

/** What a file and everything that it imports are, at one time. */
export type Found = Trace['found'];

/** File systems stamp changes with a clock that ticks this slowly, at worst. Milliseconds. */
const TICK_MS = 20;

export const areSame = (a: Found, b: Found): boolean => a.size === b.size && haveSame(a, b);

/** Whether what stands in both has not changed. */
function haveSame(a: Found, b: Found): boolean {
  for (const [path, { identity }] of b) {
    const other = a.get(path);
    if (other !== undefined && other.identity !== identity) return false;
  }
  return true;
}

/**
 * Whether nothing changed while it was read, from `startedAt` (ms since 1970) until `after` was seen. Of an input that
 * nobody knew before the file was read, only the time of its last change can tell.
 */
export function wereSteady(before: Found, after: Found, startedAt: number): boolean {
  const fresh = [...after].filter(([path]) => !before.has(path));
  return haveSame(before, after) && fresh.every(([, { changedAt }]) => changedAt < startedAt - TICK_MS);
}

/**
 * Whether something that was there is gone and may come back in a moment, as in a save that deletes before it writes.
 * What is missing in another directory than it was in has been left out of what replaced the old one; only of the
 * config file itself that is no sign.
 */
export function lacks(now: Found, before: Found, configFile: string): boolean {
  for (const [path, seen] of now) {
    const known = before.get(path);
    if (seen.identity !== MISSING || known === undefined || known.identity === MISSING) continue;
    if (path === configFile || seen.within === null || isSamePlace(seen, known)) return true;
  }
  return false;
}

const isSamePlace = (a: Traced, b: Traced): boolean => a.within === b.within;

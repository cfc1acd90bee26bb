import type { CacheEntry } from '../../../traffic/cache-messages.ts';

/** A response that stays fresh for less than this is requested again soon anyway (s). */
const MIN_LIFETIME = 30;
/** Maximum number of bytes written per second of freshness: a response is written again each time it is revalidated. */
const MAX_PER_SECOND = 65_536;
/** The largest fraction of the disk that one response may take. */
const LARGEST_PART = 0.1;

/** Whether a response lives long enough, for its size, to be written. `size` is that of the disk (bytes). */
export function isWorthKeeping({ lifetime, initialAge, noCache, length }: CacheEntry, size: number): boolean {
  const fresh = lifetime - initialAge;
  return !noCache && fresh >= MIN_LIFETIME && length <= fresh * MAX_PER_SECOND && length <= size * LARGEST_PART;
}

import { setTimeout as sleep } from 'node:timers/promises';
import { IssueError } from '../issue-error.ts';

/** Pauses (ms): short at first, since most authorities finish at once, and at least the last after a rate limit without Retry-After. */
const FIRST_MS = 25;
const LONGEST_MS = 2_000;
const LIMITED_MS = 15_000;
/** All pauses together (ms). */
export const TOTAL_MS = 130_000;

/** The library's message for a state that is not final. */
export const PENDING = 'Operation is pending or processing';

/**
 * Repeats a query until it succeeds, with pauses of `totalMs` together and at least those that the authority asks for.
 * @throws what `query` throws: at once if the state is final, or if the authority asks for more time than is left.
 */
export async function poll<T>(query: () => Promise<T>, totalMs: number): Promise<T> {
  for (let left = totalMs, usual = FIRST_MS; ; usual = Math.min(2 * usual, LONGEST_MS)) {
    try {
      return await query();
    } catch (error) {
      const pause = Math.max(usual, pauseAfter(error));
      if (pause > left) throw error;
      left -= pause;
      await sleep(pause);
    }
  }
}

/** How long to wait at least before the next query (ms); infinite if it would have the same result. */
function pauseAfter(error: unknown): number {
  if (error instanceof IssueError && error.kind === 'limited') return error.retryAfterMs ?? LIMITED_MS;
  if (error instanceof IssueError) return error.kind === 'unreachable' ? (error.retryAfterMs ?? 0) : Number.POSITIVE_INFINITY;
  // Errors with a code happened on the way to the authority.
  return error instanceof Error && (error.message === PENDING || 'code' in error) ? 0 : Number.POSITIVE_INFINITY;
}

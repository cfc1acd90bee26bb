import type { Exchange } from '../exchange/exchange.ts';

/** How far a try had come when it failed. */
export type Progress = {
  /** Whether a byte of the request was written. */
  readonly written: boolean;
  /** Whether a byte of the answer was read. */
  readonly answered: boolean;
  /** Whether the connection had served another request before. */
  readonly reused: boolean;
};

export const NOTHING_SENT: Progress = { written: false, answered: false, reused: false };

/** RFC 9110 9.2.2. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']);

/** Most tries of one request on targets that it had not tried before. */
export const MAX_TARGETS = 3;

/**
 * Whether a failed request may be sent again: never after a byte of the answer, never a body that is
 * partly gone; else when nothing was written, or when twice is the same as once.
 */
export function repeatable(x: Exchange, progress: Progress): boolean {
  if (progress.answered || x.bodyConsumed) return false;
  return !progress.written || IDEMPOTENT.has(x.method);
}

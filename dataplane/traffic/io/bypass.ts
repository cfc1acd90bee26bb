import { type Handle, type PendingWrite, writeError } from './node-handle.ts';

/**
 * TLS completes no write at once, but nearly all of them soon after. One write of at most this many bytes is therefore not waited for: TLS
 * has encrypted its bytes by the time the call returns, and its result is only looked up before the next one. Larger writes go through a
 * stream, so that senders notice when the peer does not read.
 */
export const MAX_BYPASS_BYTES = 16_384;

const BYPASS = Symbol('bypass');

/**
 * A handle with the last write that was not waited for. It is undefined without TLS, and null if that write is complete. The handle outlives
 * those who write to it, and TLS would end the process at a write before that one is complete.
 */
export type Sink = Handle & { [BYPASS]?: PendingWrite | null };

/** To be called for a handle of TLS before the first write. */
export function allowBypass(sink: Sink): void {
  sink[BYPASS] ??= null;
}

/** Keeps the write that a call has returned, if it is one over TLS that is under way. @returns whether it is. */
export function keepBypass(sink: Sink, result: PendingWrite | number): boolean {
  if (sink[BYPASS] === undefined || typeof result === 'number' || writeError() !== 0) return false;
  sink[BYPASS] = result;
  return true;
}

export const bypassOf = (sink: Sink): PendingWrite | null => sink[BYPASS] ?? null;

export function forgetBypass(sink: Sink): void {
  sink[BYPASS] = null;
}

/** The result of the last write that was not waited for, which is forgotten: 0 or a negative error number; null while it is under way. */
export function takeBypassResult(sink: Sink): number | null {
  const bypass = sink[BYPASS];
  if (bypass == null) return 0;
  const status = bypass.writeStatus;
  if (status !== null) sink[BYPASS] = null;
  return status;
}

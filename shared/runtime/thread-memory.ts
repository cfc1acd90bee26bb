import { totalmem } from 'node:os';

let share = Number.POSITIVE_INFINITY;

/** Memory that this process may use (bytes): that of the machine, or of its container if that has less. */
export function usableMemory(total = totalmem(), container = process.constrainedMemory()): number {
  // 0 and numbers beyond the machine's memory mean that there is no limit.
  return container > 0 ? Math.min(total, container) : total;
}

/** From now on, the limits of this thread are those of one that has this much memory (bytes). */
export function setThreadMemory(bytes: number): void {
  share = bytes;
}

/**
 * A limit for what this thread keeps: `most` (bytes), or a `part`th of its memory if that is less, but `least` in any case: what ordinary
 * clients need on a machine with many workers and little memory.
 */
export const withinMemory = (most: number, part: number, least = 0): number => Math.min(most, Math.floor(Math.max(share / part, least)));

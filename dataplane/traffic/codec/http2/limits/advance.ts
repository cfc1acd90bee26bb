import { withinMemory } from '../../../../../shared/runtime/thread-memory.ts';

/** The most that all streams of a thread together may keep without using up the windows of their connections (bytes). */
const MAX_ADVANCED = 134_217_728;
/** At most this part of the thread's memory. */
const PART = 16;

let total = 0;

/** Bytes that a stream keeps although the window of its connection has got them back. */
type Keeper = { advanced: number };

/**
 * A stream keeps more bytes, because their recipient does not read. Its own window limits how many; if they used up the window of the
 * connection as well, a few such streams would stop all others.
 * @returns how many bytes to return to the window of the connection now, and not once the stream has passed them on.
 */
export function advance(stream: Keeper, bytes: number): number {
  if (total + bytes > withinMemory(MAX_ADVANCED, PART)) return 0;
  total += bytes;
  stream.advanced += bytes;
  return bytes;
}

/** A stream keeps these bytes no longer. @returns how many of them the window of the connection has not got back yet. */
export function settle(stream: Keeper, bytes: number): number {
  const early = Math.min(stream.advanced, bytes);
  stream.advanced -= early;
  total -= early;
  return bytes - early;
}

import { withinMemory } from '../../../../../shared/runtime/thread-memory.ts';

/** What the requests of a thread may have waiting in all for targets that don't read their bodies (bytes). */
const MAX_QUEUED = 67_108_864;
/** At most this part of the thread's memory. */
const PART = 32;

let total = 0;

/** This many bytes of requests more wait for their targets, or less. */
export function countQueued(bytes: number): void {
  total += bytes;
}

/** Whether a part of it waits from which on memory must not be kept beside what waits. */
export const someIsQueued = (): boolean => total * 4 > withinMemory(MAX_QUEUED, PART);

/** Whether so much waits that each request has to wait with as little as possible. Clients then wait with the rest, as their windows allow. */
export const muchIsQueued = (): boolean => total > withinMemory(MAX_QUEUED, PART);

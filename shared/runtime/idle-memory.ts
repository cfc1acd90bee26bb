import { getHeapStatistics } from 'node:v8';
import type { Clock } from './clock.ts';
import { garbageCollector } from './v8-flags.ts';

/** How often a thread is measured (ms). */
const PERIOD_MS = 10_000;
/**
 * A thread that has used at most this much processor time in a period is idle (ms). This allows for its timers, and for less than a hundred
 * requests a second.
 */
const IDLE_MS = 100;
/** How much its memory must have grown since the last collection (bytes). */
const MIN_GROWTH = 2_097_152;
/** A larger heap would stop its thread for more than about 50 ms, and little of it would be garbage (bytes). */
const MAX_HEAP = 67_108_864;
/** The shortest time between two collections (ms). */
const MIN_INTERVAL_MS = 600_000;
/** After so many collections that have freed less than that growth, what is left counts as kept. */
const MAX_IN_VAIN = 3;

/** A thread as its memory is managed. */
export type ThreadMemory = {
  /** Processor time that the thread has used (ms). */
  usedMs(): number;
  /** Memory that its heap occupies (bytes). */
  heapBytes(): number;
  /** Memory outside of its heap that objects in it occupy, such as buffers (bytes). */
  externalBytes(): number;
  /** Collects all garbage and returns free memory to the system. */
  release(): void;
};

/**
 * Releases memory of this thread when it is idle. V8 collects garbage only while memory is being allocated, so an idle thread would keep
 * the garbage of its start, or of its last busy time: a quarter of its heap, and up to a hundred megabytes of buffers. @returns a function
 * that stops it.
 */
export function releaseMemoryWhenIdle(clock: Clock, memory: ThreadMemory = thisThread()): () => void {
  let usedMs = memory.usedMs();
  let kept = 0;
  /** What should be left outside of the heap: the least that was, since what is still in use during a collection may be garbage by the next. */
  let external = Number.POSITIVE_INFINITY;
  /** How many collections in a row have freed little: what is left after some belongs to the thread. */
  let inVain = 0;
  let releasedAt = Number.NEGATIVE_INFINITY;
  return clock.every(PERIOD_MS, () => {
    const before = usedMs;
    usedMs = memory.usedMs();
    if (usedMs - before > IDLE_MS || clock.monotonic() - releasedAt < MIN_INTERVAL_MS) return;
    const heap = memory.heapBytes();
    const held = heap + memory.externalBytes();
    if (held - kept < MIN_GROWTH || heap > MAX_HEAP) return;
    memory.release();
    releasedAt = clock.monotonic();
    const left = memory.externalBytes();
    inVain = held - memory.heapBytes() - left < MIN_GROWTH ? inVain + 1 : 0;
    external = inVain < MAX_IN_VAIN ? Math.min(external, left) : left;
    if (inVain === MAX_IN_VAIN) inVain = 0;
    kept = memory.heapBytes() + external;
    usedMs = memory.usedMs();
  });
}

function thisThread(): ThreadMemory {
  return {
    usedMs: () => {
      const { user, system } = process.threadCpuUsage();
      return (user + system) / 1_000;
    },
    heapBytes: () => getHeapStatistics().total_physical_size,
    externalBytes: () => getHeapStatistics().external_memory,
    release: () => void garbageCollector()({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  };
}

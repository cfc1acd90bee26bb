/** The source of time. Tests replace it; nothing else reads the system clock. */
export interface Clock {
  /** Milliseconds since 1970 by the wall clock. */
  now(): number;
  /** Milliseconds since some fixed moment, never decreasing; the same in every thread of the process. */
  monotonic(): number;
  /** Runs `task` after `ms`; the returned function cancels it. Never keeps the process alive. */
  after(ms: number, task: () => void): () => void;
  /** Runs `task` every `ms`; the returned function stops it. Never keeps the process alive. */
  every(ms: number, task: () => void): () => void;
}

/** Finding the global costs half as much as reading the time. */
const { performance } = globalThis;

/** `performance.now` counts from each thread's start; this converts it to the process-wide monotonic clock. */
const threadOffset = differenceOfClocks();

/**
 * If a thread is interrupted between reading the two clocks, the interruption becomes an error. The clocks are therefore read several
 * times, and the quickest reading counts.
 */
function differenceOfClocks(): number {
  let difference = 0;
  let quickest = Number.POSITIVE_INFINITY;
  for (let look = 0; look < 5; look++) {
    const before = performance.now();
    const processWide = process.hrtime.bigint();
    const after = performance.now();
    if (after - before >= quickest) continue;
    quickest = after - before;
    difference = Number(processWide / 1_000n) / 1_000 - (before + after) / 2;
  }
  return difference;
}

const [OUTSIDE, UNKNOWN] = [0, -1];
/** The time of the current read: `OUTSIDE` of reads, and `UNKNOWN` until something needs it. */
const readTime = new Float64Array([OUTSIDE]);

/**
 * Until `endRead`, the monotonic clock of this thread stands still once it has been read. What happens in between takes a few microseconds,
 * may need the time more than once, and would spend a good part of them on reading it.
 */
export function beginRead(): void {
  readTime[0] = UNKNOWN;
}

/** Time passes again. */
export function endRead(): void {
  readTime[0] = OUTSIDE;
}

function monotonic(): number {
  const known = readTime[0] as number;
  if (known > 0) return known;
  const now = performance.now() + threadOffset;
  if (known === UNKNOWN) readTime[0] = now;
  return now;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic,
  after: (ms, task) => {
    const timer = setTimeout(task, ms).unref();
    return () => clearTimeout(timer);
  },
  every: (ms, task) => {
    const timer = setInterval(task, ms).unref();
    return () => clearInterval(timer);
  },
};

/** Resolves after `ms` of the given clock, or at once when `signal` is aborted. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = () => {
      cancel();
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const cancel = clock.after(ms, wake);
    signal?.addEventListener('abort', wake, { once: true });
  });
}

import type { Clock } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';

/** How often the workers' heaps are measured (ms). */
const PERIOD_MS = 10_000;
/** A worker that uses more than this share of its heap limit ... */
const MAX_SHARE = 0.7;
/** ... this many times in a row is not just holding garbage. */
const MAX_STRIKES = 3;
/** Minimum interval between replacements (ms): if the table itself is that large, a new worker will need the memory too. */
const MIN_INTERVAL_MS = 600_000;
const MB = 1_048_576;

/** Used bytes and limit of a worker's heap. */
export type Heap = { readonly worker: number; readonly used: number; readonly limit: number };

type MeasuredPool = { heaps(): Promise<readonly Heap[]>; replace(worker: number, withinMs: number): Promise<void> };
type MemoryWatchdogTools = { readonly clock: Clock; readonly log: Log; drainMs(): number };

/** Replaces a worker gracefully before it runs out of heap and crashes with its connections. @returns a function that stops it. */
export function watchMemory(workers: MeasuredPool, { clock, log, drainMs }: MemoryWatchdogTools): () => void {
  /** Consecutive measurements above the limit, by worker. */
  let strikes = new Map<number, number>();
  let checking = false;
  let replacedAt = Number.NEGATIVE_INFINITY;

  /** The largest worker that has been above the limit for long enough. */
  const judge = (heaps: readonly Heap[]): Heap | undefined => {
    const tooLarge = heaps.filter(({ used, limit }) => used > limit * MAX_SHARE);
    strikes = new Map(tooLarge.map(({ worker }) => [worker, (strikes.get(worker) ?? 0) + 1]));
    if (clock.monotonic() - replacedAt < MIN_INTERVAL_MS) return undefined;
    return tooLarge.filter(({ worker }) => (strikes.get(worker) ?? 0) >= MAX_STRIKES).sort((a, b) => b.used - a.used)[0];
  };
  const replace = async ({ worker, used, limit }: Heap): Promise<void> => {
    replacedAt = clock.monotonic();
    const [used_mb, limit_mb] = [Math.round(used / MB), Math.round(limit / MB)];
    log.warn({ worker, used_mb, limit_mb }, 'a worker is close to its memory limit and is replaced');
    await workers.replace(worker, drainMs());
  };
  const check = async (): Promise<void> => {
    if (checking) return;
    checking = true;
    try {
      const found = judge(await workers.heaps());
      if (found !== undefined) await replace(found);
    } catch (error) {
      log.error({ error: String(error) }, 'a worker that uses too much memory could not be replaced');
    } finally {
      checking = false;
    }
  };
  return clock.every(PERIOD_MS, () => void check());
}

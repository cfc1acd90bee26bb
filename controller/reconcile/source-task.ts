import { createBackoff } from '../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import type { Random } from '../../shared/runtime/random.ts';
import type { Snapshot, Source } from '../sources/source.ts';

/** Runs a source until the signal is aborted. A source that fails is restarted, and its routes stay meanwhile. */
export async function keepRunning(
  source: Source,
  accept: (snapshot: Snapshot) => void,
  { clock, random, log, signal }: { clock: Clock; random: Random; log: Log; signal: AbortSignal },
): Promise<void> {
  const backoff = createBackoff(random);
  while (!signal.aborted) {
    try {
      await source.run(signal, (snapshot) => {
        backoff.reset();
        accept(snapshot);
      });
    } catch (error) {
      log.error(
        { source: source.name, reason: error instanceof Error ? error.message : String(error) },
        'a source failed and is being restarted',
      );
    }
    if (!signal.aborted) await sleep(clock, backoff.next(), signal);
  }
}

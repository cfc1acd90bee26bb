import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import { whyNotBelieved } from '../controllers/confirmation.ts';
import type { Restored } from '../disk/restore.ts';
import type { LiveTable } from '../live-table.ts';
import type { UnconfirmedSource } from './unconfirmed.ts';

/** How long to wait for controllers to confirm their targets before these may be used unconfirmed (ms). */
const WAIT_MS = 2_000;

/**
 * Restored targets wait for their controllers to confirm them. After WAIT_MS, those that were confirmed recently enough
 * are used anyway; the others continue to wait. Must be called before the first frame can arrive.
 * @returns what begins to wait; call it once controllers can connect.
 */
export function awaitControllers(table: LiveTable, { controllers, boot }: Restored, clock: Clock, log: Log): () => void {
  const sources = table.unconfirmedSources();
  if (sources.length === 0) return () => undefined;
  // Judged by what was known at the start, because a frame about another source says nothing about this one.
  const judged = sources.map(({ controller, source }) => {
    const reason = whyNotBelieved(controllers.get(controller)?.confirmed[source], boot, clock.now());
    return { controller, source, reason };
  });
  for (const source of sources) log.info(source, 'waiting for the controller to confirm restored targets');
  const decide = (): void => {
    const waiting = table.unconfirmedSources();
    for (const { controller, source, reason } of judged) {
      const still = waiting.find((other) => other.controller === controller && other.source === source);
      if (still === undefined) continue;
      if (reason === null) void trust(table, still, log);
      else log.warn({ ...still, reason }, 'restored targets are not used until their controller confirms them');
    }
  };
  return () => void clock.after(WAIT_MS, decide);
}

async function trust(table: LiveTable, source: UnconfirmedSource, log: Log): Promise<void> {
  try {
    await table.trust(source);
    log.warn(source, 'using restored targets without a confirmation from their controller');
  } catch (error) {
    log.warn({ ...source, reason: error instanceof Error ? error.message : String(error) }, 'could not use restored targets yet');
  }
}

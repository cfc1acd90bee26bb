import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import { whyNotBelieved } from '../controllers/confirmation.ts';
import type { Restored } from '../disk/restore.ts';
import type { LiveTable } from '../live-table.ts';
import type { UnconfirmedSource } from './unconfirmed.ts';

/** How long controllers have to confirm their targets before those are used without a confirmation (ms). */
const WAIT_MS = 2_000;

/**
 * Targets of an earlier run wait for their controllers. After WAIT_MS without a confirmation, targets that can be believed
 * all the same are used; the others go on waiting. To be called before the first frame can come.
 */
export function awaitControllers(table: LiveTable, { controllers, boot }: Restored, clock: Clock, log: Log): void {
  const sources = table.unconfirmedSources();
  if (sources.length === 0) return;
  // Judged by what was known at the start: a frame about another source says nothing about this one.
  const judged = sources.map(({ controller, source }) => {
    const reason = whyNotBelieved(controllers.get(controller)?.confirmed[source], boot, clock.now());
    return { controller, source, reason };
  });
  for (const source of sources) log.info(source, 'targets are from before the start: waiting for their controller');
  clock.after(WAIT_MS, () => {
    const waiting = table.unconfirmedSources();
    for (const { controller, source, reason } of judged) {
      const still = waiting.find((other) => other.controller === controller && other.source === source);
      if (still === undefined) continue;
      if (reason === null) void trust(table, still, log);
      else log.warn({ ...still, reason }, 'targets from before the start are not used until their controller names them');
    }
  });
}

async function trust(table: LiveTable, source: UnconfirmedSource, log: Log): Promise<void> {
  try {
    await table.trust(source);
    log.warn(source, 'no word of the controller: its targets are used as they were');
  } catch (error) {
    log.warn(
      { ...source, reason: error instanceof Error ? error.message : String(error) },
      'targets from before the start are not used yet',
    );
  }
}

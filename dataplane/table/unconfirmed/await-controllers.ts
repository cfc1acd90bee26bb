import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import { doubtOf } from '../controllers/confirmations.ts';
import type { Restored } from '../disk/restore.ts';
import type { LiveTable } from '../live-table.ts';
import type { Doubt } from './unconfirmed.ts';

/** How long controllers are waited for before their targets are used without their word (ms). */
const WORD_MS = 2_000;

/**
 * Targets of an earlier run wait for their controllers. When those have said nothing for WORD_MS, targets that can be
 * believed all the same are used; the others go on waiting. To be called before the first frame can come.
 */
export function awaitWord(table: LiveTable, { controllers, boot }: Restored, clock: Clock, log: Log): void {
  const doubts = table.doubts();
  if (doubts.length === 0) return;
  // By what was known at the start: a frame about another source says nothing about this one.
  const judged = doubts.map((doubt) => {
    const { controller, source } = doubt;
    return { doubt, reason: doubtOf(controllers.get(controller)?.confirmed[source], boot, clock.now()) };
  });
  for (const doubt of doubts) log.info(doubt, 'targets are from before the start: waiting for their controller');
  clock.after(WORD_MS, () => {
    const left = table.doubts();
    for (const { doubt, reason } of judged) {
      const still = left.find(({ controller, source }) => controller === doubt.controller && source === doubt.source);
      if (still === undefined) continue;
      if (reason === null) void trust(table, still, log);
      else log.warn({ ...still, reason }, 'targets from before the start are not used until their controller names them');
    }
  });
}

async function trust(table: LiveTable, doubt: Doubt, log: Log): Promise<void> {
  try {
    await table.trust(doubt);
    log.warn(doubt, 'no word of the controller: its targets are used as they were');
  } catch (error) {
    log.warn(
      { ...doubt, reason: error instanceof Error ? error.message : String(error) },
      'targets from before the start are not used yet',
    );
  }
}

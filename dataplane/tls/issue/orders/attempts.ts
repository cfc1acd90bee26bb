import { createHash } from 'node:crypto';
import { join } from 'node:path';
import * as z from 'zod';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import { PersistentMap } from '../../store/persistent-map.ts';
import type { OrderAttempt } from './order-scheduler.ts';

/** `settings` is a digest of the settings in effect at the failure; absent in files of earlier versions. */
type SavedAttempt = OrderAttempt & { readonly settings?: string | undefined };

const schema: z.ZodType<SavedAttempt> = z.object({
  failures: z.int().min(0),
  nextTry: z.int().min(0),
  delay: z.int().min(0).optional(),
  lastError: z.string().max(8_192),
  settings: z.string().max(64).optional(),
});

/**
 * Failed attempts by name, kept over restarts so that a backoff of an hour is observed. Changing the ACME settings
 * clears all backoffs, since the change may be the fix.
 */
export class Attempts {
  private readonly saved: PersistentMap<SavedAttempt>;
  private settings: string | undefined;

  constructor(stateDir: string, clock: Clock, log: Log) {
    const what = 'the record of failed certificate orders';
    const cost = 'after a restart they are retried immediately';
    this.saved = new PersistentMap({ path: join(stateDir, 'issuing.json'), schema, what, cost }, clock, log);
  }

  /** Sets the ACME settings in effect from now on. */
  setSettings(settings: object): void {
    this.settings = createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 16);
  }

  get(name: string): OrderAttempt | null {
    const saved = this.saved.get(name);
    if (saved === null) return null;
    const { settings = this.settings, ...attempt } = saved;
    return settings === this.settings ? attempt : null;
  }

  /** null deletes the entry. */
  set(name: string, attempt: OrderAttempt | null): void {
    this.saved.set(name, attempt && { ...attempt, ...(this.settings !== undefined && { settings: this.settings }) });
  }
  /** As `PersistentMap.release`. */
  release(): Promise<void> {
    return this.saved.release();
  }

  reclaim(): void {
    this.saved.reclaim();
  }
}

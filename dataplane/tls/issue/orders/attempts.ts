import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log.ts';
import { PersistentMap } from '../../store/persistent-map.ts';
import type { Attempt } from './order-scheduler.ts';

/** `settings` is a digest of those that it failed under; absent in files of earlier versions. */
type Saved = Attempt & { readonly settings?: string | undefined };

const schema: z.ZodType<Saved> = z.object({
  failures: z.int().min(0),
  nextTry: z.int().min(0),
  lastError: z.string().max(8_192),
  settings: z.string().max(64).optional(),
});

/**
 * What went wrong with each name so far, over restarts: one that was told to wait an hour waits it. Whoever changes how
 * certificates are ordered has mended something, and nothing waits for what failed before.
 */
export class Attempts {
  private readonly saved: PersistentMap<Saved>;
  private settings: string | undefined;

  constructor(stateDir: string, clock: Clock, log: Log) {
    const what = 'what failed with certificates before';
    const cost = 'after a restart they are tried at once';
    this.saved = new PersistentMap({ path: join(stateDir, 'issuing.json'), schema, what, cost }, clock, log);
  }

  /** What is ordered from now on is ordered so. */
  setSettings(settings: object): void {
    this.settings = createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 16);
  }

  get(name: string): Attempt | null {
    const saved = this.saved.get(name);
    if (saved === null) return null;
    const { settings = this.settings, ...attempt } = saved;
    return settings === this.settings ? attempt : null;
  }

  /** null forgets it. */
  set(name: string, attempt: Attempt | null): void {
    this.saved.set(name, attempt && { ...attempt, ...(this.settings !== undefined && { settings: this.settings }) });
  }
}

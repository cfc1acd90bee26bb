import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Attempt } from './issuer.ts';
import { SavedByName } from './saved-by-name.ts';

const schema: z.ZodType<Attempt> = z.object({
  failures: z.int().min(0),
  nextTry: z.int().min(0),
  lastError: z.string().max(8_192),
});

/** What went wrong with each name so far, over restarts: one that was told to wait an hour waits it. */
export class Attempts extends SavedByName<Attempt> {
  constructor(stateDir: string, clock: Clock, log: Log) {
    const what = 'what failed with certificates before';
    super({ path: join(stateDir, 'issuing.json'), schema, what, cost: 'after a restart they are tried at once' }, clock, log);
  }
}

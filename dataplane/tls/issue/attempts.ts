import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import { writePrivate } from '../store/private-file.ts';
import type { Attempt } from './issuer.ts';

const FILE = 'issuing.json';
/** Changes are gathered for this long (ms): a thousand names that fail together are one write. */
const GATHER_MS = 1_000;

const attemptSchema = z.object({ failures: z.int().min(1), nextTry: z.int().min(0), lastError: z.string().max(8_192) });
const savedSchema = z.record(z.string(), attemptSchema);

/** What went wrong with each name so far, over restarts: one that was told to wait an hour waits it. */
export class Attempts {
  private readonly path: string;
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly byName: Map<string, Attempt>;
  private saving = false;

  constructor(stateDir: string, clock: Clock, log: Log) {
    this.path = join(stateDir, FILE);
    this.clock = clock;
    this.log = log;
    this.byName = new Map(Object.entries(read(this.path, log)));
  }

  get(name: string): Attempt | null {
    return this.byName.get(name) ?? null;
  }

  set(name: string, attempt: Attempt | null): void {
    if (attempt === null && !this.byName.delete(name)) return;
    if (attempt !== null) this.byName.set(name, attempt);
    if (this.saving) return;
    this.saving = true;
    this.clock.after(GATHER_MS, () => void this.save());
  }

  private async save(): Promise<void> {
    this.saving = false;
    try {
      await writePrivate(`${this.path}.new`, `${JSON.stringify(Object.fromEntries(this.byName))}\n`);
      renameSync(`${this.path}.new`, this.path);
    } catch (error) {
      this.log.warn(
        { path: this.path, error: String(error) },
        'what failed with certificates can not be saved; after a restart they are tried at once',
      );
    }
  }
}

/** Nothing but patience is lost with a file that can't be read. */
function read(path: string, log: Log): Record<string, Attempt> {
  try {
    return savedSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    log.warn({ path, error: error instanceof Error ? error.name : String(error) }, 'what failed with certificates before can not be read');
    return {};
  }
}

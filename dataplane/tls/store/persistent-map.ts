import { readFileSync, renameSync } from 'node:fs';
import * as z from 'zod';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { codeOf } from '../../../shared/runtime/error-code.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import { writePrivate } from './private-file.ts';

/** Changes are batched for this long (ms), so that a thousand names changing together cause one write. */
const GATHER_MS = 1_000;

/** How soon a file that could not be saved is saved again (ms). */
const AGAIN_MS = 30_000;

export type PersistentMapFile<T> = {
  readonly path: string;
  readonly schema: z.ZodType<T>;
  /** For the log: what the file holds, and the consequence of losing it. */
  readonly what: string;
  readonly cost: string;
  /** Overrides the batching delay (ms). */
  readonly gatherMs?: number;
};

/** A map from names to values, saved to a JSON file. */
export class PersistentMap<T> {
  private readonly file: PersistentMapFile<T>;
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly values: Map<string, T>;
  /** Whether there are changes that no save has begun to write. */
  private changed = false;
  /** Cancels the next save; null if none is planned. */
  private cancelSave: (() => void) | null = null;
  private released = false;
  /** Why the last save failed; null if it did not. */
  private failure: string | null = null;
  /** One save after the other, since all use the same temporary file. */
  private saved: Promise<void> = Promise.resolve();

  constructor(file: PersistentMapFile<T>, clock: Clock, log: Log) {
    this.file = file;
    this.clock = clock;
    this.log = log;
    this.values = new Map(Object.entries(read(file, log)));
  }

  get(name: string): T | null {
    return this.values.get(name) ?? null;
  }

  entries(): IterableIterator<[string, T]> {
    return this.values.entries();
  }

  /** null deletes the entry. */
  set(name: string, value: T | null): void {
    if (value === null && !this.values.delete(name)) return;
    if (value !== null) this.values.set(name, value);
    this.saveAfter(this.file.gatherMs ?? GATHER_MS);
  }

  /**
   * Saves what has changed so far, and nothing from then on: the process ends, or another one uses the file. Resolves when that is on disk,
   * or has failed.
   */
  release(): Promise<void> {
    if (this.released) return this.saved;
    this.released = true;
    return this.changed ? this.saveNow() : this.saved;
  }

  /** The file is ours again: what has changed meanwhile is saved. */
  reclaim(): void {
    this.released = false;
    if (this.changed) this.saveAfter(this.file.gatherMs ?? GATHER_MS);
  }

  private saveAfter(ms: number): void {
    this.changed = true;
    if (this.released) return;
    this.cancelSave ??= this.clock.after(ms, () => void this.saveNow());
  }

  private saveNow(): Promise<void> {
    this.cancelSave?.();
    this.cancelSave = null;
    this.saved = this.saved.then(() => this.save());
    return this.saved;
  }

  private async save(): Promise<void> {
    this.changed = false;
    const { path, what, cost } = this.file;
    try {
      await writePrivate(`${path}.new`, `${JSON.stringify(Object.fromEntries(this.values))}\n`);
      renameSync(`${path}.new`, path);
      this.failure = null;
    } catch (error) {
      const failure = String(error);
      if (failure !== this.failure) this.log.warn({ path, error: failure }, `${what} cannot be saved; ${cost}`);
      this.failure = failure;
      this.saveAfter(AGAIN_MS);
    }
  }
}

/** An unreadable file counts as empty: its loss only costs time. */
function read<T>({ path, schema, what }: PersistentMapFile<T>, log: Log): Record<string, T> {
  try {
    return z.record(z.string(), schema).parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {};
    log.warn({ path, error: error instanceof Error ? error.name : String(error) }, `${what} cannot be read`);
    return {};
  }
}

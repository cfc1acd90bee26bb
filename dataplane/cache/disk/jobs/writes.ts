import type { Purge } from '../../../../shared/wire/purge.ts';
import type { CacheEntry } from '../../../traffic/cache-messages.ts';
import { matches } from '../../matching.ts';
import type { DiskFolder } from '../disk-folder.ts';
import type { DiskFs } from '../disk-fs.ts';
import { LARGEST_HEAD } from '../entry-file.ts';
import type { KeyFilter } from '../key-filter.ts';
import type { WriteOutcome } from '../messages.ts';
import { WriteJob } from './write-job.ts';

export type WriteTools = {
  readonly folder: DiskFolder;
  readonly fs: DiskFs;
  readonly filter: KeyFilter;
  /** The response has been written. */
  readonly written: (job: WriteJob) => void;
  readonly settled: (entry: CacheEntry, outcome: WriteOutcome) => void;
  readonly failed: (error: unknown) => void;
};

/** Responses that wait to be written, one after the other. The sender limits their number. */
export class Writes {
  private readonly tools: WriteTools;
  private readonly queue = new Map<string, WriteJob>();

  constructor(tools: WriteTools) {
    this.tools = tools;
  }

  add(entry: CacheEntry): void {
    const { folder, fs, filter, settled } = this.tools;
    const job = new WriteJob(folder, fs, entry);
    if (job.headLength > LARGEST_HEAD) return settled(entry, 'unwanted');
    this.queue.set(job.name, job);
    filter.add(job.saved.keyDigest);
  }

  /** Responses to a key that have no file yet. */
  of(key: string): WriteJob[] {
    return [...this.queue.values()].filter(({ entry }) => entry.key === key);
  }

  matching(purge: Purge): WriteJob[] {
    return [...this.queue.values()].filter(({ entry }) => matches(purge, entry));
  }

  withId(id: number): WriteJob | undefined {
    for (const job of this.queue.values()) if (job.entry.id === id) return job;
    return undefined;
  }

  get(name: string): WriteJob | undefined {
    return this.queue.get(name);
  }

  drop(job: WriteJob, outcome: WriteOutcome): void {
    this.over(job, outcome);
    try {
      job.abandon();
    } catch (error) {
      this.tools.failed(error);
    }
  }

  dropAll(outcome: WriteOutcome): void {
    for (const job of [...this.queue.values()]) this.drop(job, outcome);
  }

  /** @returns whether there is more to do. */
  step(): boolean {
    const [job] = this.queue.values();
    if (job === undefined) return false;
    try {
      if (job.step()) {
        this.tools.written(job);
        this.over(job, 'written');
      }
    } catch (error) {
      this.drop(job, 'dropped');
      this.tools.failed(error);
    }
    return this.queue.size > 0;
  }

  private over(job: WriteJob, outcome: WriteOutcome): void {
    this.queue.delete(job.name);
    this.tools.filter.remove(job.saved.keyDigest);
    this.tools.settled(job.entry, outcome);
  }
}

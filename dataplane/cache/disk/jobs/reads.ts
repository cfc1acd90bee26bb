import { codeOf } from '../../../../shared/runtime/error-code.ts';
import type { CacheEntry } from '../../../traffic/cache-messages.ts';
import type { DiskFolder } from '../disk-folder.ts';
import { type DiskFs, isTransient } from '../disk-fs.ts';
import type { DiskIndex, OnDisk } from '../disk-index.ts';
import { isUsable } from '../entry-shape.ts';
import { DamagedFileError, ReadJob } from './read-job.ts';

export type ReadTools = {
  readonly folder: DiskFolder;
  readonly fs: DiskFs;
  readonly index: DiskIndex;
  readonly now: () => number;
  readonly nextId: () => number;
  readonly answer: (key: string, entries: readonly CacheEntry[]) => void;
  /** The file of a response can't be used. `error` null: it is only too old. */
  readonly useless: (one: OnDisk, error: unknown) => void;
};

/** The maximum number of files open at once. */
const MAX_OPEN = 8;

/** `bytes`: of bodies that it holds. */
type Task = { readonly key: string; readonly files: OnDisk[]; readonly entries: CacheEntry[]; job: ReadJob | null; bytes: number };

/** Responses that are being read, all of them in turn, so that a large one does not delay the others. */
export class Reads {
  private readonly tools: ReadTools;
  private readonly tasks = new Set<Task>();
  /** Bytes of bodies that are being read, and how many there may be. */
  private bytes = 0;
  private most = 0;

  constructor(tools: ReadTools) {
    this.tools = tools;
  }

  /** Reads files, and answers with their responses and with `others`. `most`: bytes of the largest body. */
  add(key: string, files: readonly OnDisk[], others: readonly CacheEntry[], most: number): void {
    if (files.length === 0) return this.tools.answer(key, others);
    this.most = 2 * most;
    this.tasks.add({ key, files: [...files], entries: [...others], job: null, bytes: 0 });
  }

  /** Answers all pending reads with nothing. */
  cancel(): void {
    for (const task of this.tasks) {
      task.job?.close();
      this.tools.answer(task.key, []);
    }
    this.tasks.clear();
    this.bytes = 0;
  }

  /** @returns whether there is more to do. */
  step(): boolean {
    for (const task of this.tasks) {
      if (!this.advance(task)) continue;
      this.tasks.delete(task);
      this.bytes -= task.bytes;
      this.tools.answer(task.key, task.entries);
    }
    return this.tasks.size > 0;
  }

  /** @returns whether everything has been read. */
  private advance(task: Task): boolean {
    const [one] = task.files;
    if (one === undefined) return true;
    const { folder, fs, index, now, nextId, useless } = this.tools;
    try {
      if (task.job === null) {
        const { length } = one.entry;
        const isFull = this.bytes > task.bytes && this.bytes + length > this.most;
        if (isFull || [...this.tasks].filter(({ job }) => job !== null).length >= MAX_OPEN) return false;
        task.job = new ReadJob(folder, fs, one.name);
        task.bytes += length;
        this.bytes += length;
      }
      if (!task.job.step()) return false;
      // It may have been purged, or replaced, while it was read.
      if (index.get(one.name) === one) {
        if (isUsable(task.job.head, now())) {
          const id = nextId();
          index.renumber(one, id);
          task.entries.push(task.job.entry(id, task.key));
        } else useless(one, null);
      }
    } catch (error) {
      if (!(error instanceof DamagedFileError) && codeOf(error) === '') throw error;
      if (index.get(one.name) === one && !isTransient(error)) useless(one, error);
    }
    task.job?.close();
    task.job = null;
    task.files.shift();
    return task.files.length === 0;
  }
}

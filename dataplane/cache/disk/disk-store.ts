import { join } from 'node:path';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { codeOf } from '../../../shared/runtime/error-code.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Purge } from '../../../shared/wire/purge.ts';
import type { CacheEntry } from '../../traffic/cache-messages.ts';
import { DiskFolder } from './disk-folder.ts';
import type { DiskFs } from './disk-fs.ts';
import { DiskIndex, type OnDisk } from './disk-index.ts';
import { DiskPause } from './disk-pause.ts';
import { nameOf } from './entry-file.ts';
import { digestOf } from './entry-shape.ts';
import { DamagedFileError } from './jobs/read-job.ts';
import { Reads } from './jobs/reads.ts';
import type { WriteJob } from './jobs/write-job.ts';
import { Writes } from './jobs/writes.ts';
import { KeyFilter } from './key-filter.ts';
import type { DiskStart, EntryIdentity, FromDisk, ToDisk } from './messages.ts';
import { NOTED_JOURNAL, OWN_JOURNAL } from './own-files.ts';
import { Deletions } from './purges/deletions.ts';
import { PendingPurges } from './purges/pending-purges.ts';
import { PurgeJournal } from './purges/purge-journal.ts';
import { scanFiles } from './start-scan.ts';

/**
 * Errors of a full disk; the share of the files that is deleted each time, because others need space too; and the minimum time between
 * deletions (ms).
 */
const NO_SPACE = new Set(['ENOSPC', 'EDQUOT']);
const SHED_PART = 0.0625;
const SHED_MS = 20_000;
/** A process that handed over should not need much more than its time to drain (ms). */
const END_MS = 60_000;

export type DiskStoreTools = {
  readonly fs: DiskFs;
  readonly clock: Clock;
  readonly log: Log;
  readonly post: (message: FromDisk) => void;
};

/**
 * The files of the cache, one for each response. This runs in a thread of its own and may wait for the disk, in small steps, between which
 * messages are handled.
 */
export class DiskStore {
  private readonly tools: DiskStoreTools;
  private readonly folder: DiskFolder;
  private readonly index: DiskIndex;
  private readonly filter: KeyFilter;
  private readonly rest: DiskPause;
  private readonly deletions: Deletions;
  private readonly writes: Writes;
  private readonly reads: Reads;
  private readonly journal: PurgeJournal;
  private readonly noted: PurgeJournal;
  private lastShed = Number.NEGATIVE_INFINITY;
  private lastNoted: number;
  private readonly notedMs: number;
  /** The purges so far, until all files have been indexed; then null. */
  private pending: PendingPurges | null = new PendingPurges();
  /** Work for idle times: indexing the files, and deleting what other processes left behind. */
  private background: Generator<void> | null = null;
  /** `released`: they belong to another process. */
  private state: 'closed' | 'open' | 'released' = 'closed';
  private mayWrite: boolean;
  /** Whether everything must be deleted as soon as possible. */
  private clearing = false;
  private lastId: number;
  private damaged = 0;
  private reported = '';

  constructor({ path, size, filter, firstId, shared, drainMs }: DiskStart, tools: DiskStoreTools) {
    const { fs, clock, log } = tools;
    const failed = (error: unknown): void => this.fail(error);
    this.tools = tools;
    this.mayWrite = !shared;
    this.lastId = firstId;
    this.lastNoted = clock.monotonic();
    this.notedMs = drainMs + END_MS;
    this.filter = new KeyFilter(filter);
    this.filter.clear();
    this.folder = new DiskFolder(path, fs);
    this.index = new DiskIndex(size, this.filter);
    this.rest = new DiskPause(path, clock, log);
    this.deletions = new Deletions(this.folder, failed);
    this.journal = new PurgeJournal(join(path, OWN_JOURNAL), fs);
    this.noted = new PurgeJournal(join(path, NOTED_JOURNAL), fs);
    const files = { folder: this.folder, fs };
    this.writes = new Writes({
      ...{ ...files, filter: this.filter, failed },
      written: (job) => this.written(job),
      settled: ({ length }, outcome) => tools.post({ kind: 'settled', length, outcome }),
    });
    this.reads = new Reads({
      ...{ ...files, index: this.index, now: () => clock.now(), nextId: () => --this.lastId },
      answer: (key, entries) => tools.post({ kind: 'read', key, entries }),
      useless: (one, error) => this.useless(one, error),
    });
    this.open();
  }

  private open(): void {
    try {
      this.folder.open();
      if (this.clearing) {
        this.folder.setAside();
        this.folder.open();
        this.clearing = false;
      }
      for (const purge of this.journal.read()) this.pending?.add(purge);
      for (const purge of this.noted.read()) this.note(purge);
      this.state = 'open';
      this.background = this.scan();
      this.rest.end();
    } catch (error) {
      this.fail(error);
    }
    this.report();
  }

  private *scan(): Generator<void> {
    yield* scanFiles({
      ...{ folder: this.folder, fs: this.tools.fs, now: () => this.tools.clock.now() },
      isKnown: (name) => this.index.has(name) || this.deletions.has(name),
      found: (name, head, bytes) => {
        if (this.pending?.removes(head) === true) this.deletions.add(name, true);
        else this.deleteAll(this.index.add(name, head, bytes, 0));
      },
      useless: (name, damaged) => {
        if (damaged) this.damaged++;
        this.deletions.add(name, false);
      },
    });
    this.pending = null;
    this.deletions.whenDone(true, (saved) => saved && this.attempt(() => this.journal.remove()));
    yield* this.folder.leftovers();
  }

  handle(message: ToDisk): void {
    switch (message.kind) {
      case 'read':
        return this.read(message.key, message.most);
      case 'write':
        return this.write(message.entry, message.replaces);
      case 'forget':
        return this.supersede(message.identity, message.replaces);
      case 'used':
        for (const [id, count] of message.counts) this.index.touch(id, count);
        return;
      case 'purge':
        return this.purge(message);
      case 'clear':
        return this.clear();
      case 'own':
        this.mayWrite = true;
        return;
      case 'release':
        return this.release();
      case 'reclaim':
        this.pending = new PendingPurges();
        return this.open();
      case 'close':
        return this.close();
    }
  }

  /** Takes one step of each task. @returns whether there is more to do at once. */
  turn(): boolean {
    const reading = this.reads.step();
    const writing = this.writes.step();
    const deleting = this.deletions.step();
    return reading || writing || deleting || this.continueScan();
  }

  /** @returns whether there is more to do. */
  private continueScan(): boolean {
    const { background } = this;
    if (background === null) return false;
    const whole = this.attempt(() => {
      if (background.next().done === true && this.background === background) this.background = null;
    });
    if (!whole && this.background === background) this.background = null;
    return this.background !== null;
  }

  /** Once a second. */
  tick(): void {
    if (this.rest.due) this.retry();
    this.deletions.tick();
    if (this.state === 'open') this.attempt(() => this.readNoted());
    this.report();
  }

  private retry(): void {
    this.deletions.retry();
    if (this.state === 'released') return this.rest.end();
    if (this.state === 'closed' || this.pending !== null) return this.open();
    this.attempt(() => {
      this.folder.open();
      this.folder.probe();
      this.rest.end();
    });
  }

  private readNoted(): void {
    for (const purge of this.noted.read()) this.note(purge);
    if (this.pending === null && this.tools.clock.monotonic() - this.lastNoted > this.notedMs) {
      this.lastNoted = this.tools.clock.monotonic();
      this.noted.remove();
    }
  }

  private note(purge: Purge): void {
    this.lastNoted = this.tools.clock.monotonic();
    this.remove(purge);
    this.pending?.add(purge);
    this.tools.post({ kind: 'noted', purge });
  }

  private read(key: string, most: number): void {
    const waiting = this.writes.of(key).map(({ entry }) => entry);
    let room = most;
    const files = this.index.of(digestOf(key)).filter(({ entry: { length } }) => {
      if (length > room) return false;
      room -= length;
      return true;
    });
    this.reads.add(key, files, waiting, most);
  }

  private write(entry: CacheEntry, replaces: number | null): void {
    this.supersede(entry, replaces);
    if (this.mayWrite && this.state === 'open' && !this.rest.resting) this.writes.add(entry);
    else this.tools.post({ kind: 'settled', length: entry.length, outcome: 'dropped' });
  }

  private written({ name, saved, size, entry }: WriteJob): void {
    this.deletions.spare(name);
    this.deleteAll(this.index.add(name, saved, size, entry.id));
  }

  /** A newer response takes the place of this one. */
  private supersede({ key, vary, variant }: EntryIdentity, replaces: number | null): void {
    const name = nameOf({ keyDigest: digestOf(key), vary, variant });
    for (const job of [this.writes.get(name), replaces === null ? undefined : this.writes.withId(replaces)])
      if (job !== undefined && this.writes.get(job.name) === job) this.writes.drop(job, 'unwanted');
    const old = replaces === null ? undefined : this.index.withId(replaces);
    for (const one of [this.index.get(name), old]) if (one !== undefined) this.delete(one, false);
    // It may be in a file that has not been indexed yet.
    if (this.pending !== null && this.state !== 'released') this.deletions.add(name, false);
  }

  private purge({ id, purge, counted, urgent }: Extract<ToDisk, { kind: 'purge' }>): void {
    const answer = (count: number, saved: boolean): void => this.tools.post({ kind: 'purged', id, count, saved });
    if (this.state === 'released') {
      const saved = this.attempt(() => {
        this.noted.add(purge);
        if (urgent) this.noted.sync();
      });
      return answer(0, saved);
    }
    const inMemory = new Set(counted);
    const removed = this.remove(purge);
    const count = removed.filter((number) => !inMemory.has(number)).length;
    const { pending } = this;
    pending?.add(purge);
    const noted = pending === null || this.attempt(() => this.journal.add(purge));
    this.deletions.whenDone(urgent, (saved) => answer(count, saved && noted && this.attempt(() => this.journal.sync())));
  }

  /** @returns the numbers of the removed responses. */
  private remove(purge: Purge): number[] {
    const jobs = this.writes.matching(purge);
    for (const job of jobs) this.writes.drop(job, 'unwanted');
    const files = this.index.matching(purge);
    for (const one of files) this.delete(one, true);
    return [...jobs.map(({ entry }) => entry.id), ...files.map((one) => one.id)];
  }

  private delete(one: OnDisk, durably: boolean): void {
    this.index.remove(one.name);
    this.deletions.add(one.name, durably);
  }

  private deleteAll(files: readonly OnDisk[]): void {
    for (const { name } of files) this.deletions.add(name, false);
  }

  private useless(one: OnDisk, error: unknown): void {
    this.delete(one, false);
    if (error instanceof DamagedFileError) this.damaged++;
    else if (error !== null && codeOf(error) !== 'ENOENT') this.fail(error);
  }

  private clear(): void {
    this.forgetAll();
    this.clearing = true;
    this.pending = new PendingPurges();
    if (this.state !== 'released') this.open();
  }

  /** Starts over as if there were no files. */
  private forgetAll(): void {
    this.writes.dropAll('unwanted');
    this.reads.cancel();
    this.index.clear();
    this.background = null;
  }

  private release(): void {
    if (this.state === 'open') this.deletions.finish();
    this.forgetAll();
    this.deletions.clear();
    this.journal.close();
    this.state = 'released';
    this.tools.post({ kind: 'released' });
    this.report();
  }

  /** Completes the pending work. */
  private close(): void {
    this.background = null;
    this.reads.cancel();
    while (this.writes.step());
    if (this.state === 'open') this.deletions.finish();
    this.attempt(() => this.noted.sync());
    this.journal.close();
    this.noted.close();
    this.report();
  }

  private fail(error: unknown): void {
    this.rest.begin(error);
    this.writes.dropAll('dropped');
    if (NO_SPACE.has(codeOf(error))) this.shed();
    this.report();
  }

  private shed(): void {
    const now = this.tools.clock.monotonic();
    if (now - this.lastShed < SHED_MS) return;
    this.lastShed = now;
    this.deleteAll(this.index.shed(SHED_PART));
  }

  /** @returns whether it succeeded. */
  private attempt(act: () => void): boolean {
    try {
      act();
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  private report(): void {
    const { bytes, entries } = this.index;
    const state = { bytes, entries, damaged: this.damaged, failure: this.rest.failure };
    const text = JSON.stringify(state);
    if (text === this.reported) return;
    this.reported = text;
    this.tools.post({ kind: 'state', ...state });
  }
}

import { join } from 'node:path';
import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import { startThread } from '../../../shared/runtime/start-thread.ts';
import type { Purge } from '../../../shared/wire/purge.ts';
import type { CacheEntry } from '../../traffic/cache-messages.ts';
import { digestOf } from './entry-shape.ts';
import { QueueLimit } from './jobs/queue-limit.ts';
import { isWorthKeeping } from './jobs/worth-keeping.ts';
import { KeyFilter } from './key-filter.ts';
import type { DiskStart, DiskState, FromDisk, ToDisk } from './messages.ts';

/** How long a request waits for the disk (ms), and how many may wait. */
const READ_MS = 500;
const MAX_READS = 64;
/** A thread that ended is started again after this long (ms). */
const RESTART_MS = 5_000;
/** Time limits for a purge, for the last writes of a process, and for the release of the files (ms). */
const PURGE_MS = 5_000;
const CLOSE_MS = 5_000;
const RELEASE_MS = 3_000;
/** A disk that is silent for longer is an alert (ms). */
const SILENT_MS = 5_000;
/** With more unconfirmed purges than this, everything is deleted when the thread is restarted. */
const MAX_UNCONFIRMED = 10_000;
/** Size of the thread's young generation (MB): more costs memory and gains nothing. */
const YOUNG_GENERATION_MB = 4;

/** The TypeScript source in the repository, the compiled file in `dist/`. */
const ENTRY = new URL(`./thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);
export const CACHE_FOLDER = 'cache';

export type DiskTierOptions = {
  readonly stateDir: string;
  /** Bytes of files. */
  readonly size: number;
  /** Whether another process may use the files until `own`. */
  readonly shared: boolean;
  /** How long a process that handed over may still answer requests (ms). */
  readonly drainMs: number;
};

export type DiskTierTools = {
  readonly clock: Clock;
  readonly log: Log;
  /** Another process, which still answers requests, has purged these. */
  readonly noted: (purge: Purge) => void;
  readonly spawn?: (start: DiskStart) => DiskThread;
};

export type DiskThread = {
  on(event: 'message', act: (message: FromDisk) => void): unknown;
  on(event: 'error', act: (error: Error) => void): unknown;
  on(event: 'exit', act: () => void): unknown;
  postMessage(message: ToDisk): void;
  terminate(): Promise<number>;
  unref(): void;
};

/** Figures about the files, for metrics. */
export type DiskStatus = DiskState & { readonly size: number; readonly hits: number; readonly written: number; readonly dropped: number };

export type DiskPurge = { readonly count: number; readonly saved: boolean };
type Unconfirmed = { readonly message: Extract<ToDisk, { kind: 'purge' }>; readonly done: (result: DiskPurge) => void };

/**
 * The files of the cache as the main thread sees them. A thread of its own reads and writes them; nothing here waits for the disk. A
 * request waits for a file for half a second at most; while the thread does not answer, none waits.
 */
export class DiskTier {
  private readonly options: DiskTierOptions;
  private readonly tools: DiskTierTools;
  private readonly memory = KeyFilter.memory();
  private readonly filter = new KeyFilter(this.memory);
  private readonly queue: QueueLimit;
  private readonly reading = new Map<string, (entries: readonly CacheEntry[]) => void>();
  private readonly unconfirmed = new Map<number, Unconfirmed>();
  /** Whether something did not reach the thread that must not be served any more: it begins with empty files when it is started. */
  private lost = false;
  private thread: DiskThread | null = null;
  /** Whether no other process uses the files. */
  private owned: boolean;
  private state: DiskState = { bytes: 0, entries: 0, damaged: 0, failure: null };
  /** `released` to another process that takes over, which may give them back. */
  private use: 'used' | 'released' | 'ended' = 'used';
  private starts = 0;
  private lastPurge = 0;
  private hits = 0;
  /** When the thread stopped answering, on the monotonic clock; null if it answers. */
  private silentSince: number | null = null;
  private released: () => void = () => undefined;

  /** `cacheSize`: bytes of memory of the cache. */
  constructor(options: DiskTierOptions, cacheSize: number, tools: DiskTierTools) {
    this.options = options;
    this.tools = tools;
    this.owned = !options.shared;
    this.queue = new QueueLimit(cacheSize);
    // While the cache was off, requests with unsafe methods invalidated nothing.
    this.lost = cacheSize === 0;
    this.spawn();
  }

  get status(): DiskStatus {
    const { state, hits, queue } = this;
    return { ...state, size: this.options.size, hits, written: queue.written, dropped: queue.dropped };
  }

  /** The current problems, one line each. */
  get warnings(): string[] {
    const { clock } = this.tools;
    const silent = this.silentSince !== null && clock.monotonic() - this.silentSince > SILENT_MS;
    const failure = silent ? 'the disk does not answer' : this.state.failure;
    return failure === null ? [] : [`the cache can't use ${this.path}: ${failure}`];
  }

  private get path(): string {
    return join(this.options.stateDir, CACHE_FOLDER);
  }

  resize(cacheSize: number): void {
    this.queue.resize(cacheSize);
    if (cacheSize === 0) this.clear();
  }

  /** Reads the stored responses for a key, `most` bytes of bodies at most. @returns false if there are none, or the disk is too busy. */
  read(key: string, most: number, then: (entries: readonly CacheEntry[]) => void): boolean {
    if (!this.filter.has(digestOf(key)) || this.thread === null || this.use !== 'used') return false;
    if (this.silentSince !== null || this.reading.size >= MAX_READS || this.reading.has(key)) return false;
    const cancel = this.tools.clock.after(READ_MS, () => {
      this.silentSince ??= this.tools.clock.monotonic();
      answer([]);
    });
    const answer = (entries: readonly CacheEntry[]): void => {
      cancel();
      this.reading.delete(key);
      if (entries.length > 0) this.hits++;
      then(entries);
    };
    this.reading.set(key, answer);
    this.post({ kind: 'read', key, most });
    return true;
  }

  /** A response was stored in memory in place of `replaces`. */
  offer(entry: CacheEntry, replaces: number | null): void {
    if (this.use !== 'used') return;
    const { key, vary, variant, host, target } = entry;
    // After its restart, the thread would find the file of the older response.
    if (this.thread === null) return void this.purge({ kind: 'target', host, target }, [], false);
    if (isWorthKeeping(entry, this.options.size) && this.queue.reserve(entry.length)) this.post({ kind: 'write', entry, replaces });
    else this.post({ kind: 'forget', identity: { key, vary, variant }, replaces });
  }

  used(counts: readonly (readonly [id: number, count: number])[]): void {
    if (this.use === 'used') this.post({ kind: 'used', counts });
  }

  /** Removes files, whether or not the thread is running now. `counted`: those that are counted already. */
  purge(purge: Purge, counted: readonly number[], urgent: boolean): Promise<DiskPurge> {
    const id = ++this.lastPurge;
    return new Promise((resolve) => {
      const cancel = urgent ? this.tools.clock.after(PURGE_MS, () => resolve({ count: 0, saved: false })) : () => undefined;
      const done = (result: DiskPurge): void => {
        cancel();
        this.unconfirmed.delete(id);
        resolve(result);
      };
      const message: ToDisk = { kind: 'purge', id, purge, counted, urgent };
      this.unconfirmed.set(id, { message, done });
      if (this.unconfirmed.size > MAX_UNCONFIRMED) this.forgetUnconfirmed();
      this.post(message);
    });
  }

  private forgetUnconfirmed(): void {
    this.lost = true;
    for (const { done } of [...this.unconfirmed.values()]) done({ count: 0, saved: false });
  }

  clear(): void {
    this.post({ kind: 'clear' });
    if (this.thread === null) this.lost = true;
  }

  /** Leaves the files to another process. */
  async release(): Promise<void> {
    if (this.use !== 'used' || this.thread === null) return;
    this.use = 'released';
    const released = new Promise<void>((resolve) => {
      this.released = resolve;
    });
    this.post({ kind: 'release' });
    await Promise.race([released, sleep(this.tools.clock, RELEASE_MS)]);
  }

  /** The other process has not taken over. */
  reclaim(): void {
    if (this.use !== 'released') return;
    this.use = 'used';
    this.post({ kind: 'reclaim' });
  }

  /** No other process uses the files any more. */
  own(): void {
    this.owned = true;
    this.post({ kind: 'own' });
  }

  /** Completes pending writes, and ends. */
  async close(): Promise<void> {
    this.use = 'ended';
    const { thread } = this;
    if (thread === null) return;
    this.post({ kind: 'close' });
    await Promise.race([new Promise((resolve) => thread.on('exit', () => resolve(null))), sleep(this.tools.clock, CLOSE_MS)]);
    // Not awaited: it does not end while it waits for a disk that hangs.
    void thread.terminate();
  }

  private post(message: ToDisk): void {
    this.thread?.postMessage(message);
  }

  private spawn(): void {
    const { size, drainMs } = this.options;
    const firstId = -(this.starts++ * 2 ** 32);
    const start: DiskStart = { path: this.path, size, filter: this.memory, firstId, shared: !this.owned, drainMs };
    const thread = (this.tools.spawn ?? newThread)(start);
    this.thread = thread;
    // The process need not wait for it.
    thread.unref();
    let fault = '';
    thread.on('message', (message: FromDisk) => this.receive(message));
    thread.on('error', (error) => {
      fault = error.stack ?? error.message;
    });
    thread.on('exit', () => this.exited(fault));
    if (this.use === 'released') this.post({ kind: 'release' });
    if (this.lost) this.post({ kind: 'clear' });
    this.lost = false;
    for (const { message } of this.unconfirmed.values()) this.post(message);
  }

  private receive(message: FromDisk): void {
    switch (message.kind) {
      case 'read':
        this.silentSince = null;
        return this.reading.get(message.key)?.(message.entries);
      case 'settled':
        return this.queue.settled(message.length, message.outcome);
      case 'purged':
        return this.unconfirmed.get(message.id)?.done(message);
      case 'noted':
        return this.tools.noted(message.purge);
      case 'released':
        return this.released();
      case 'state':
        this.state = message;
        return;
      case 'log':
        this.tools.log[message.level](message.fields, message.message);
    }
  }

  private exited(fault: string): void {
    const { clock, log } = this.tools;
    this.thread = null;
    this.silentSince = null;
    this.queue.empty();
    this.filter.clear();
    for (const answer of [...this.reading.values()]) answer([]);
    this.released();
    if (this.use === 'ended') return;
    log.error({ error: fault }, 'the thread of the files of the cache ended and is being restarted');
    clock.after(RESTART_MS, () => this.use !== 'ended' && this.spawn());
  }
}

const newThread = (start: DiskStart): DiskThread =>
  startThread(ENTRY, { workerData: start, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB } });

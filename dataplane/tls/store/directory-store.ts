import { renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Certificate } from '../../../shared/certificates/certificate.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { Bucket, Lease, NewCertificate, StoreChange, StoreContents, StoredCertificate } from './cert-store.ts';
import { makeWritable } from './directory-access.ts';
import { ACCOUNTS, DirectoryIndex, isOurs, OWN_FOLDERS, type OwnFolder } from './directory-index.ts';
import { acquireLease } from './file-lease.ts';
import { accountName, folderName } from './folder-name.ts';
import { FolderWatcher } from './folder-watcher.ts';
import { KeyValueFolder } from './key-value-folder.ts';
import { writePairFolder } from './pair-folder.ts';
import { makePrivateFolder, readIfPresent, syncFolder, writePrivate } from './private-file.ts';

/** Delay before a rescan (ms), so that a program which replaces both files can finish. */
const QUIET_MS = 200;
/** Changes missed by the watches are found after this time (ms). */
const RESCAN_MS = 60_000;
const LOCKS = '.locks';

/** `instance` is stable over restarts, so that a lock left by a crash is free for the next process. */
type StoreRuntime = { readonly clock: Clock; readonly random: Random; readonly log: Log; readonly instance?: string };

/**
 * Stores certificates and accounts as files, possibly shared by several instances. `acme/NAME` and `pushed/NAME`, or the given `folders`,
 * hold ours (cert.pem, key.pem, meta.json). Every other folder is a manually placed pair, which is read and never written. Accounts are in
 * `accounts`. All times are in milliseconds.
 */
export class DirectoryStore {
  private readonly root: string;
  private readonly runtime: StoreRuntime;
  private readonly index: DirectoryIndex;
  private readonly folders: readonly OwnFolder[];
  private readonly listeners = new Set<(change: StoreChange) => void>();
  private readonly watches: FolderWatcher;
  private readonly stopRescan: () => void;
  private readonly buckets: Readonly<Record<Bucket, KeyValueFolder>>;
  /** Locks held by this process. */
  private readonly locked = new Set<string>();
  private cancelRescan: () => void = () => undefined;
  private last: Promise<unknown> = Promise.resolve();
  /** Whether the last write succeeded. */
  private prepared = false;
  private reported = new Map<string, string>();

  /** Creates no directory before the first write. */
  constructor(path: string, runtime: StoreRuntime, folders: readonly OwnFolder[] = OWN_FOLDERS) {
    this.root = resolve(path);
    this.runtime = runtime;
    this.folders = folders;
    this.index = new DirectoryIndex(this.root, runtime.clock, folders);
    const notes = (folder: string): KeyValueFolder => new KeyValueFolder(join(this.root, folder));
    this.buckets = { orders: notes('.orders'), challenges: notes('.challenges'), instances: notes('.instances') };
    this.watches = new FolderWatcher(() => this.rescanSoon(), runtime.log);
    this.stopRescan = runtime.clock.every(RESCAN_MS, () => void this.rescan());
  }

  /** The whole content, after checking for changes. */
  list(): Promise<StoreContents> {
    return this.inTurn(async () => {
      await this.scan();
      return { certificates: this.index.certificates(), problems: this.index.problems() };
    });
  }

  /** Ensures that the store is writable. @throws the system's error. */
  async prepare(): Promise<void> {
    this.throwIfUnmounted();
    if (this.prepared) return;
    for (const folder of ['', ...this.folders]) makeWritable(join(this.root, folder));
    this.prepared = true;
  }

  /** null if there is none, or it is unusable. @throws UnreadableNowError */
  async get(id: string): Promise<Certificate | null> {
    return this.index.pair(id);
  }

  /** Resolves when it is safely on disk. @throws the system's error; then the old one is kept. */
  put({ source, domains, pair, order, ariId, owner }: NewCertificate): Promise<StoredCertificate> {
    return this.inTurn(async () => {
      this.throwIfUnmounted();
      this.prepared = false;
      const id = `${source}/${folderName(domains)}`;
      const saved_at = new Date(this.runtime.clock.now()).toISOString();
      const meta = { domains: [...domains], order: order ?? null, ari_id: ariId ?? null, saved_at, ...(owner && { owner }) };
      await writePairFolder(join(this.root, id), pair, meta);
      await syncFolder(join(this.root, source));
      await syncFolder(this.root);
      this.updateWatches();
      this.prepared = true;
      const { put } = this.index.refresh(id);
      const entry = this.index.get(id);
      const stored = put ?? (entry?.reason === null ? entry.stored : null);
      if (stored === null) throw new Error(`${join(this.root, id)} can't be read back: ${entry?.reason ?? 'it is gone'}`);
      this.notify({ put: [stored], removed: [] });
      return stored;
    });
  }

  /** @returns false if there is none, or it was placed there manually and must not be deleted. */
  delete(id: string): Promise<boolean> {
    return this.inTurn(async () => {
      if (!isOurs(id) || this.index.get(id) === undefined) return false;
      const folder = join(this.root, id);
      rmSync(folder, { recursive: true });
      await syncFolder(join(folder, '..'));
      this.notify({ put: [], removed: this.index.refresh(id).removed });
      return true;
    });
  }

  /** null: another process holds it. An expired lease, as after a crash, is free. */
  async lock(name: string, ttlMs: number): Promise<Lease | null> {
    this.throwIfUnmounted();
    if (this.locked.has(name)) return null;
    const { instance } = this.runtime;
    const holder = instance === undefined ? {} : { holder: { instance, pid: process.pid } };
    const done = (): boolean => this.locked.delete(name);
    this.locked.add(name);
    try {
      const lease = await acquireLease(join(this.root, LOCKS, folderName([name])), 'lock', ttlMs, { ...this.runtime, ...holder });
      if (lease === null) done();
      return lease && { renew: () => lease.renew(), release: () => lease.release().finally(done) };
    } catch (error) {
      done();
      throw error;
    }
  }

  /** The ordered certificate for a name, after checking the disk; null if there is none, or it is unusable. */
  refresh(name: string): Promise<StoredCertificate | null> {
    return this.inTurn(async () => {
      const id = `acme/${folderName([name])}`;
      const { put, removed } = this.index.refresh(id);
      this.notify({ put: put === null ? [] : [put], removed });
      return this.index.get(id)?.stored ?? null;
    });
  }

  /** The keys in a bucket. */
  async keys(kind: Bucket): Promise<string[]> {
    return this.buckets[kind].keys();
  }

  /** null if there is none. */
  async read(kind: Bucket, name: string): Promise<string | null> {
    return this.buckets[kind].read(name);
  }

  /** Resolves when other instances and the next process can read it; null deletes it. @throws the system's error. */
  async write(kind: Bucket, name: string, text: string | null): Promise<void> {
    if (text !== null) this.throwIfUnmounted();
    await this.buckets[kind].write(name, text);
  }

  /** Reports every change, our own and those of other processes. The returned function unsubscribes. */
  watch(listener: (change: StoreChange) => void): () => void {
    this.listeners.add(listener);
    this.updateWatches();
    return () => this.listeners.delete(listener);
  }

  /** The saved account for the authority with this directory URL. */
  async account(directory: string): Promise<string | null> {
    return readIfPresent(join(this.root, ACCOUNTS, accountName(directory)));
  }

  putAccount(directory: string, text: string): Promise<void> {
    return this.inTurn(async () => {
      this.throwIfUnmounted();
      const folder = join(this.root, ACCOUNTS);
      const path = join(folder, accountName(directory));
      makePrivateFolder(folder);
      await writePrivate(`${path}.new`, text);
      renameSync(`${path}.new`, path);
      await syncFolder(folder);
    });
  }

  /** Stops watching. Operations in progress are completed first. */
  async close(): Promise<void> {
    this.listeners.clear();
    this.cancelRescan();
    this.stopRescan();
    this.watches.close();
    await this.last;
  }

  /** Nothing is written below a mount point, where it would be hidden later. @throws an error like that of a system call. */
  private throwIfUnmounted(): void {
    if (!this.index.isUnmounted) return;
    throw Object.assign(new Error('not mounted'), { code: 'ENODEV', syscall: 'mount', path: this.root });
  }

  /** Runs tasks one after another, whether or not the previous one succeeded. */
  private inTurn<T>(task: () => Promise<T>): Promise<T> {
    const done = this.last.then(task);
    this.last = done.catch(() => undefined);
    return done;
  }

  private rescanSoon(): void {
    this.cancelRescan();
    this.cancelRescan = this.runtime.clock.after(QUIET_MS, () => void this.rescan());
  }

  private async rescan(): Promise<void> {
    try {
      await this.inTurn(() => this.scan());
    } catch (error) {
      this.runtime.log.error(
        { path: this.root, error: String(error) },
        'the certificate directory cannot be read: the certificates read earlier stay in use',
      );
    }
  }

  private async scan(): Promise<void> {
    const change = await this.index.scan();
    this.updateWatches();
    this.notify(change);
  }

  private updateWatches(): void {
    if (this.listeners.size === 0) return;
    const more = this.watches.follow([this.root, ...this.folders.map((folder) => join(this.root, folder)), ...this.foreignFolders()]);
    // What has changed in it before is not reported.
    if (more) this.rescanSoon();
  }

  private foreignFolders(): string[] {
    return this.index.manualIds().map((id) => join(this.root, id));
  }

  private notify({ put, removed }: Omit<StoreChange, 'problems'>): void {
    const problems = this.index.problems();
    const now = new Map(problems.map(({ id, reason }) => [id, reason]));
    const news = problems.some(({ id, reason }) => this.reported.get(id) !== reason);
    const healed = [...this.reported.keys()].some((id) => !now.has(id));
    this.reported = now;
    if (put.length + removed.length === 0 && !news && !healed) return;
    for (const listener of this.listeners) listener({ put, removed, problems });
  }
}

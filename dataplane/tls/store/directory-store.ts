import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Certificate } from '../../../shared/certificates/certificate.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { CertStore, Holdings, Lease, NewCertificate, NoteKind, StoreChange, StoredCertificate } from './cert-store.ts';
import { makeWritable } from './directory-access.ts';
import { ACCOUNTS, Entries, isOurs, OWN_FOLDERS, type OwnFolder } from './directory-index.ts';
import { takeLease } from './file-lease.ts';
import { accountName, folderName } from './folder-name.ts';
import { FolderWatches } from './folder-watcher.ts';
import { Notes } from './key-value-folder.ts';
import { writePairFolder } from './pair-folder.ts';
import { makePrivateFolder, syncFolder, writePrivate } from './private-file.ts';

/** Whoever replaces two files has a moment (ms) for the second. */
const QUIET_MS = 200;
/** What no watch told of is found after this time (ms). */
const RESCAN_MS = 60_000;
const LOCKS = '.locks';

/** `instance` is the same for processes that come one after the other: what a crash left locked is free for the next one. */
type Edge = { readonly clock: Clock; readonly random: Random; readonly log: Log; readonly instance?: string };

/**
 * Certificates as files: `acme/NAME` and `pushed/NAME`, or whatever our `folders` are, hold ours (cert.pem, key.pem, meta.json), every other
 * folder a pair that somebody put there, which is used as it is and never written. Accounts lie in `accounts`.
 */
export class DirectoryStore implements CertStore {
  private readonly root: string;
  private readonly edge: Edge;
  private readonly entries: Entries;
  private readonly folders: readonly OwnFolder[];
  private readonly listeners = new Set<(change: StoreChange) => void>();
  private readonly watches: FolderWatches;
  private readonly stopRescan: () => void;
  private readonly noteFolders: Readonly<Record<NoteKind, Notes>>;
  /** What this process has locked. */
  private readonly locked = new Set<string>();
  private cancelLook: () => void = () => undefined;
  private last: Promise<unknown> = Promise.resolve();
  /** Whether something could be kept the last time. */
  private prepared = false;
  private told = new Map<string, string>();

  /** Nothing is made before something is kept: whoever brings no certificate needs no directory. */
  constructor(path: string, edge: Edge, folders: readonly OwnFolder[] = OWN_FOLDERS) {
    this.root = resolve(path);
    this.edge = edge;
    this.folders = folders;
    this.entries = new Entries(this.root, edge.clock, folders);
    const notes = (folder: string): Notes => new Notes(join(this.root, folder));
    this.noteFolders = { orders: notes('.orders'), challenges: notes('.challenges'), instances: notes('.instances') };
    this.watches = new FolderWatches(() => this.lookSoon(), edge.log);
    this.stopRescan = edge.clock.every(RESCAN_MS, () => void this.rescan());
  }

  list(): Promise<Holdings> {
    return this.inTurn(async () => {
      await this.scan();
      return { certificates: this.entries.certificates(), problems: this.entries.problems() };
    });
  }

  async prepare(): Promise<void> {
    if (this.prepared) return;
    for (const folder of ['', ...this.folders]) makeWritable(join(this.root, folder));
    this.prepared = true;
  }

  async get(id: string): Promise<Certificate | null> {
    return this.entries.pair(id);
  }

  put({ source, domains, pair, order, ariId, owner }: NewCertificate): Promise<StoredCertificate> {
    return this.inTurn(async () => {
      this.prepared = false;
      const id = `${source}/${folderName(domains)}`;
      const saved_at = new Date(this.edge.clock.now()).toISOString();
      const meta = { domains: [...domains], order: order ?? null, ari_id: ariId ?? null, saved_at, ...(owner && { owner }) };
      await writePairFolder(join(this.root, id), pair, meta);
      await syncFolder(join(this.root, source));
      await syncFolder(this.root);
      this.follow();
      this.prepared = true;
      const { put } = this.entries.look(id);
      const stored = put ?? this.entries.get(id)?.stored;
      if (stored == null) throw new Error(`${join(this.root, id)} can't be read back: ${this.entries.get(id)?.reason ?? 'it is gone'}`);
      this.tell({ put: [stored], removed: [] });
      return stored;
    });
  }

  delete(id: string): Promise<boolean> {
    return this.inTurn(async () => {
      if (!isOurs(id) || this.entries.get(id) === undefined) return false;
      const folder = join(this.root, id);
      rmSync(folder, { recursive: true });
      await syncFolder(join(folder, '..'));
      this.tell({ put: [], removed: this.entries.look(id).removed });
      return true;
    });
  }

  async lock(name: string, ttlMs: number): Promise<Lease | null> {
    if (this.locked.has(name)) return null;
    const { instance } = this.edge;
    const holder = instance === undefined ? {} : { holder: { instance, pid: process.pid } };
    const done = (): boolean => this.locked.delete(name);
    this.locked.add(name);
    try {
      const lease = await takeLease(join(this.root, LOCKS, folderName([name])), 'lock', ttlMs, { ...this.edge, ...holder });
      if (lease === null) done();
      return lease && { renew: () => lease.renew(), release: () => lease.release().finally(done) };
    } catch (error) {
      done();
      throw error;
    }
  }

  refresh(name: string): Promise<StoredCertificate | null> {
    return this.inTurn(async () => {
      const id = `acme/${folderName([name])}`;
      const { put, removed } = this.entries.look(id);
      this.tell({ put: put === null ? [] : [put], removed });
      return this.entries.get(id)?.stored ?? null;
    });
  }

  async notes(kind: NoteKind): Promise<string[]> {
    return this.noteFolders[kind].list();
  }

  async note(kind: NoteKind, name: string): Promise<string | null> {
    return this.noteFolders[kind].read(name);
  }

  putNote(kind: NoteKind, name: string, text: string | null): Promise<void> {
    return this.noteFolders[kind].write(name, text);
  }

  watch(listener: (change: StoreChange) => void): () => void {
    this.listeners.add(listener);
    this.follow();
    return () => this.listeners.delete(listener);
  }

  async account(directory: string): Promise<string | null> {
    try {
      return readFileSync(join(this.root, ACCOUNTS, accountName(directory)), 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
      throw error;
    }
  }

  putAccount(directory: string, text: string): Promise<void> {
    return this.inTurn(async () => {
      const folder = join(this.root, ACCOUNTS);
      const path = join(folder, accountName(directory));
      makePrivateFolder(folder);
      await writePrivate(`${path}.new`, text);
      renameSync(`${path}.new`, path);
      await syncFolder(folder);
    });
  }

  async close(): Promise<void> {
    this.listeners.clear();
    this.cancelLook();
    this.stopRescan();
    this.watches.close();
    await this.last;
  }

  /** One after another, whether the one before succeeded or not. */
  private inTurn<T>(task: () => Promise<T>): Promise<T> {
    const done = this.last.then(task);
    this.last = done.catch(() => undefined);
    return done;
  }

  private lookSoon(): void {
    this.cancelLook();
    this.cancelLook = this.edge.clock.after(QUIET_MS, () => void this.rescan());
  }

  private async rescan(): Promise<void> {
    try {
      await this.inTurn(() => this.scan());
    } catch (error) {
      this.edge.log.error(
        { path: this.root, error: String(error) },
        'the certificate directory cannot be read: what is known stays in use',
      );
    }
  }

  private async scan(): Promise<void> {
    const change = await this.entries.scan();
    this.follow();
    this.tell(change);
  }

  private follow(): void {
    if (this.listeners.size === 0) return;
    this.watches.follow([this.root, ...this.folders.map((folder) => join(this.root, folder)), ...this.foreignFolders()]);
  }

  private foreignFolders(): string[] {
    return this.entries.foreign().map((id) => join(this.root, id));
  }

  private tell({ put, removed }: Omit<StoreChange, 'problems'>): void {
    const problems = this.entries.problems();
    const now = new Map(problems.map(({ id, reason }) => [id, reason]));
    const news = problems.some(({ id, reason }) => this.told.get(id) !== reason);
    const healed = [...this.told.keys()].some((id) => !now.has(id));
    this.told = now;
    if (put.length + removed.length === 0 && !news && !healed) return;
    for (const listener of this.listeners) listener({ put, removed, problems });
  }
}

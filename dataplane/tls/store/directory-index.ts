import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Certificate } from '../../../shared/certificates/certificate.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { codeOf } from '../../../shared/runtime/error-code.ts';
import { isDenied } from '../../../shared/runtime/http/unix-socket.ts';
import type { CertificateSource, StoreChange, StoredCertificate, StoreProblem } from './cert-store.ts';
import { describeFileError } from './directory-access.ts';
import {
  findPair,
  finishWriting,
  lacksMeta,
  misnamedPair,
  OUR_FILES,
  type PairFiles,
  type PairMeta,
  readMeta,
  readPair,
  readPairTexts,
  UnreadableNowError,
  USUAL_FILES,
} from './pair-folder.ts';

/** Folders in the certificate directory that hold our own certificates. */
export const OWN_FOLDERS: readonly OwnFolder[] = ['acme', 'pushed'];
export type OwnFolder = 'acme' | 'pushed' | 'applied';
export const ACCOUNTS = 'accounts';
/** Created by the file system if the directory is a mount point. */
const LOST_AND_FOUND = 'lost+found';
/** Longest time to block the event loop (ms). */
const TURN_MS = 8;

type Entry = {
  readonly fingerprint: string;
  readonly stored: StoredCertificate | null;
  /** The last valid manually placed pair: while it is being replaced, its two files don't match. */
  readonly pair: Certificate | null;
  /** All names of one of our own pairs, so that unchanged files need not be parsed again. */
  readonly names: readonly string[] | null;
  readonly reason: string | null;
};

const NOT_READ: Entry = { fingerprint: '', stored: null, pair: null, names: null, reason: null };

/** The content of a certificate directory as of the last scan. */
export class DirectoryIndex {
  private readonly root: string;
  private readonly clock: Clock;
  private readonly folders: readonly OwnFolder[];
  private readonly entries = new Map<string, Entry>();
  private manual: readonly string[] = [];
  /** Folders that can't be listed, with the reason. */
  private unreadable: ReadonlyMap<string, string> = new Map();
  /** The file system on which the last certificates were found. */
  private device: number | null = null;

  constructor(root: string, clock: Clock, folders: readonly OwnFolder[]) {
    this.root = root;
    this.clock = clock;
    this.folders = folders;
  }

  get(id: string): Entry | undefined {
    return this.entries.get(id);
  }

  certificates(): StoredCertificate[] {
    return [...this.entries.values()].flatMap(({ stored }) => stored ?? []);
  }

  problems(): StoreProblem[] {
    return [
      ...[...this.unreadable].map(([id, reason]) => ({ id, source: sourceOf(`${id}/`), reason })),
      ...[...this.entries].flatMap(([id, { reason }]) => (reason === null ? [] : [{ id, source: sourceOf(id), reason }])),
    ];
  }

  /** The ids of the folders for manually placed pairs, whether or not there is one in them so far. */
  manualIds(): readonly string[] {
    return this.manual;
  }

  /** Checks every folder and reads the changed ones. 10,000 unchanged ones take less than a second. */
  async scan(): Promise<Omit<StoreChange, 'problems'>> {
    const ids = this.listIds();
    const put: StoredCertificate[] = [];
    const removed: string[] = [];
    if (ids === null) return { put, removed };
    let turn = this.clock.monotonic();
    const known = new Set(ids);
    for (const id of this.entries.keys()) if (!known.has(id)) removed.push(...this.forget(id));
    for (const id of ids) {
      if (this.unreadable.has(folderOf(id))) continue;
      const { put: one, removed: gone } = this.refresh(id);
      if (one !== null) put.push(one);
      removed.push(...gone);
      if (this.clock.monotonic() - turn < TURN_MS) continue;
      await nextTurn();
      turn = this.clock.monotonic();
    }
    return { put, removed };
  }

  /**
   * Whether the file system of the certificates is no longer mounted, so that the directory shows what is below it. That it is empty says
   * nothing about them.
   */
  get isUnmounted(): boolean {
    if (this.device === null || this.entries.size === 0) return false;
    const device = deviceOf(this.root);
    return device !== null && device !== this.device;
  }

  /** Checks one folder and reads it if it changed. */
  refresh(id: string): { put: StoredCertificate | null; removed: string[] } {
    const before = this.entries.get(id);
    const seen = this.seen(id);
    if (seen === null) return { put: null, removed: this.isUnmounted ? [] : this.recordMissing(id) };
    if (seen.fingerprint === before?.fingerprint) return { put: null, removed: [] };
    const entry = this.readNow(id, seen, before ?? null);
    this.entries.set(id, entry);
    if (entry.stored === null) return { put: null, removed: before?.stored ? [id] : [] };
    return { put: entry.stored === before?.stored ? null : entry.stored, removed: [] };
  }

  /**
   * A manually placed pair as of the last scan, or one of ours as it is on disk now. null if there is none, or it is unusable.
   * @throws UnreadableNowError
   */
  pair(id: string): Certificate | null {
    const entry = this.entries.get(id);
    if (entry?.stored == null || entry.pair !== null) return entry?.pair ?? null;
    const seen = this.seen(id);
    if (seen === null && this.isUnmounted) throw new UnreadableNowError(`the file system of ${this.root} is no longer mounted`);
    if (seen === null) return null;
    const { stored, names } = entry;
    if (names === null || seen.fingerprint !== entry.fingerprint) return goodPair(id, seen);
    const texts = readPairTexts(seen);
    if (!texts.ok) return null;
    const { issuer, serial, notBefore, notAfter } = stored;
    return { domains: names, issuer, serial, notBefore, notAfter, ...texts.value };
  }

  private seen(id: string): PairFiles | null {
    const folder = join(this.root, id);
    if (!isOurs(id)) return findPair(folder, USUAL_FILES);
    return findPair(folder, OUR_FILES) ?? (finishedWriting(folder) ? findPair(folder, OUR_FILES) : null);
  }

  /** Files that can't be read now are read again at the next scan; until then, what was read before stays in use. */
  private readNow(id: string, seen: PairFiles, before: Entry | null): Entry {
    try {
      return this.read(id, seen, before);
    } catch (error) {
      if (!(error instanceof UnreadableNowError)) throw error;
      return { ...(before ?? NOT_READ), fingerprint: NOT_READ.fingerprint, reason: error.message };
    }
  }

  private read(id: string, seen: PairFiles, before: Entry | null): Entry {
    const folder = join(this.root, id);
    const ours = isOurs(id);
    const { fingerprint } = seen;
    if (ours && lacksMeta(folder)) finishedWriting(folder);
    // What we have stored may be for any name.
    const read = readPair(seen, { needsNames: !ours });
    // If a crash interrupted the write, the remaining files are still under their temporary names.
    const pair = !read.ok && ours && finishedWriting(folder) ? readPair(seen, { needsNames: !ours }) : read;
    if (!pair.ok) {
      const last = ours ? null : before;
      return { fingerprint, stored: last?.stored ?? null, pair: last?.pair ?? null, names: null, reason: pair.reason };
    }
    const { asWritten, ...certificate } = pair.value;
    const stored = storedOf(id, certificate, ours ? readMeta(folder) : null, this.clock.now());
    return { fingerprint, stored, pair: ours ? null : certificate, names: ours && asWritten ? certificate.domains : null, reason: null };
  }

  /** A folder that can't be listed keeps its known content. null: so does the whole directory. */
  private listIds(): string[] | null {
    const closed = new Map<string, string>();
    const known = [...this.entries.keys()];
    const inside = (folder: string): string[] => {
      try {
        return readdirSync(join(this.root, folder)).filter((name) => !name.startsWith('.'));
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return [];
        const advice = isDenied(error) ? 'give it to the user that this process runs as' : 'it is tried again';
        closed.set(folder, `${join(this.root, folder)} can't be read (${describeFileError(error)}); ${advice}`);
        return known.flatMap((id) => (folderOf(id) === folder ? [id.slice(id.indexOf('/') + 1)] : []));
      }
    };
    const reserved: ReadonlySet<string> = new Set([...this.folders, ACCOUNTS, LOST_AND_FOUND]);
    const ids = this.folders.flatMap((folder) => inside(folder).map((name) => `${folder}/${name}`));
    ids.push(...inside('').filter((name) => !reserved.has(name)));
    this.unreadable = closed;
    if (ids.length > 0 || !this.isUnmounted) this.manual = ids.filter((id) => !isOurs(id));
    // If nothing can be listed, its file system may be about to be unmounted.
    if (ids.some((id) => !closed.has(folderOf(id)))) this.device = deviceOf(this.root) ?? this.device;
    if (ids.length > 0 || !this.isUnmounted) return ids;
    const advice = 'mount it again, or restart the data plane to begin with an empty directory';
    this.unreadable = new Map([['', `the file system of ${this.root} is no longer mounted; ${advice}`]]);
    return null;
  }

  /** There is no pair here. If it looks like a mistake, records why. */
  private recordMissing(id: string): string[] {
    const reason = isOurs(id) ? null : misnamedPair(join(this.root, id));
    const removed = this.forget(id);
    if (reason !== null) this.entries.set(id, { fingerprint: reason, stored: null, pair: null, names: null, reason });
    return removed;
  }

  private forget(id: string): string[] {
    const entry = this.entries.get(id);
    this.entries.delete(id);
    return entry?.stored ? [id] : [];
  }
}

/**
 * The file system that a path is on, or would be on if it was created: a folder on a disk that is unmounted is gone, and what is left of its
 * path belongs to another one. null if that is unknown.
 */
function deviceOf(path: string): number | null {
  try {
    return statSync(path).dev;
  } catch (error) {
    const above = dirname(path);
    if (above !== path && error instanceof Error && 'code' in error && error.code === 'ENOENT') return deviceOf(above);
    // What lists the directory reports the reason.
    return null;
  }
}

/** Like `finishWriting`, but ignores write errors. */
function finishedWriting(folder: string): boolean {
  try {
    return finishWriting(folder);
  } catch {
    // The files are read as they are, and the next write reports the error.
    return false;
  }
}

function goodPair(id: string, seen: PairFiles): Certificate | null {
  const read = readPair(seen, { needsNames: !isOurs(id) });
  if (!read.ok) return null;
  const { asWritten: _, ...certificate } = read.value;
  return certificate;
}

function storedOf(id: string, pair: Certificate, meta: PairMeta | null, now: number): StoredCertificate {
  const { domains, issuer, serial, notBefore, notAfter } = pair;
  return {
    ...{ issuer, serial, notBefore, notAfter },
    id,
    source: sourceOf(id),
    domains: meta?.domains ?? domains,
    savedAt: meta === null ? now : Date.parse(meta.saved_at),
    order: meta?.order ?? null,
    ariId: meta?.ari_id ?? null,
    ...(meta?.owner && { owner: meta.owner }),
  };
}

/** `acme` for `acme/a.test`; empty for manually placed pairs. */
const folderOf = (id: string): string => (isOurs(id) ? id.slice(0, id.indexOf('/')) : '');

export const isOurs = (id: string): boolean => id.includes('/');

const EVERY_FOLDER: readonly OwnFolder[] = [...OWN_FOLDERS, 'applied'];
const sourceOf = (id: string): CertificateSource => EVERY_FOLDER.find((folder) => folder === folderOf(id)) ?? 'file';

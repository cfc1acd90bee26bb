import { hash } from 'node:crypto';
import { PurgeLog } from '../../../../shared/policy/cache/purge-log.ts';
import type { CacheEntry, CacheFromWorker, CacheToWorker } from '../../cache-messages.ts';
import { ownCopy, variantOf } from './response.ts';
import { StoredResponse } from './stored.ts';
import { Leftovers, type Removal, StoredBodies } from './stored-bodies.ts';

/** How many keys are remembered whose responses can't be stored, and for how long (ms). */
const MAX_UNCACHEABLE = 10_000;
const UNCACHEABLE_MS = 60_000;
/** Of how many variants of each of them: clients differ in what they accept. */
const MAX_UNCACHEABLE_VARIANTS = 8;
/** Longer ones are remembered by their digest: clients choose what is in them. */
const LONGEST_KEY = 256;
/** The maximum size of one response: as a fraction of the cache, and in bytes. */
const LARGEST_PART = 0.1;
/**
 * The maximum size of all responses that are being received, and of those that only slow clients need, as fractions of the cache. A purge of
 * many may leave all that was stored.
 */
const FILLING_PART = 0.25;
const LEFT_PART = 0.25;
const PURGED_PART = 1;

type Url = { readonly host: string; readonly target: string };

/** Until when variants of a response are known that can't be stored; `since` is the newest purge that is not about it. */
type Uncacheable = { since: number; readonly vary: readonly string[]; readonly variants: Map<string, number> };

/** A response that is received no faster than its clients read it. */
type HeldFill = {
  /** It is not stored any more, and frees what it has reserved. */
  giveWay(): void;
};

export type StoreTools = {
  /** Sends messages to the main thread, which owns the index for all workers. */
  post(message: CacheFromWorker): void;
};

/** What one worker knows about the cache: the entries that it has used, and the requests in progress. */
export class CacheStore {
  private readonly tools: StoreTools;
  private readonly keys = new Map<string, StoredResponse[]>();
  private readonly ids = new Map<number, StoredResponse>();
  private readonly used = new Set<StoredResponse>();
  private readonly uncacheable = new Map<string, Uncacheable>();
  /** Requests for whole responses, by key, and the newest purge before each of them. */
  private readonly fills = new Map<string, { readonly fill: object; readonly since: number }>();
  private readonly lookUps = new Map<string, ((found: boolean) => void)[]>();
  /** Those that wait for their clients, the one that has waited longest first. */
  private readonly held = new Set<HeldFill>();
  readonly leftovers = new Leftovers();
  private readonly purged = new Leftovers();
  private readonly bodies = new StoredBodies({ others: this.leftovers, purged: this.purged });
  private size = 0;
  private filling = 0;
  private lastId: number;
  /** The purges that are known here. */
  readonly purges = new PurgeLog();

  constructor(worker: number, tools: StoreTools) {
    this.tools = tools;
    this.lastId = worker * 2 ** 32;
  }

  /** Sets its size in bytes; 0 is off. */
  resize(size: number): void {
    this.size = size;
    // Responses that are under way when it is turned off are completed.
    if (size > 0) {
      this.leftovers.most = size * LEFT_PART;
      this.purged.most = size * PURGED_PART;
    }
    if (size === 0) for (const key of [...this.keys.keys()]) this.forgetKey(key, 'resized');
  }

  get enabled(): boolean {
    return this.size > 0;
  }

  get largest(): number {
    return Math.floor(this.size * LARGEST_PART);
  }

  /**
   * Reserves memory for a response that is being received. Those whose clients do not read give way: otherwise they would keep all others from
   * being stored for as long as they like. @returns whether there is room.
   */
  reserve(bytes: number): boolean {
    const most = this.size * FILLING_PART - bytes;
    for (const fill of this.held) {
      if (this.filling <= most) break;
      this.held.delete(fill);
      fill.giveWay();
    }
    if (this.filling > most) return false;
    this.filling += bytes;
    return true;
  }

  /** Notes whether a response waits for its clients, and returns that. */
  hold(fill: HeldFill, waits: boolean): boolean {
    if (waits) this.held.add(fill);
    else this.held.delete(fill);
    return waits;
  }

  free(bytes: number): void {
    this.filling -= bytes;
  }

  nextId(): number {
    return ++this.lastId;
  }

  has(key: string): boolean {
    return this.keys.has(key);
  }

  /** The entry for a request with these fields; null if this worker knows none. */
  find(key: string, fields: string, allowed: (entry: CacheEntry) => boolean): StoredResponse | null {
    const variants = this.keys.get(key);
    if (variants === undefined) return null;
    // There may be dozens, most of which vary by the same fields, and a client may send long ones.
    let wanted: { readonly vary: readonly string[]; readonly variant: string } | null = null;
    for (const stored of variants) {
      const { entry, varies } = stored;
      if (!allowed(entry)) continue;
      if (!varies) return stored;
      if (wanted === null || !sameNames(wanted.vary, entry.vary)) wanted = { vary: entry.vary, variant: variantOf(fields, entry.vary) };
      if (wanted.variant === entry.variant) return stored;
    }
    return null;
  }

  /** The request that is under way for this key, unless its response may be older than a purge. */
  underWay(key: string, url: Url): object | null {
    const known = this.fills.get(key);
    if (known === undefined) return null;
    if (!this.purges.mayRemove(url, known.since)) return known.fill;
    this.fills.delete(key);
    return null;
  }

  /** Lets others wait for a request, unless one for the same key is under way. */
  register(key: string, fill: object): void {
    if (!this.fills.has(key)) this.fills.set(key, { fill, since: this.purges.newest });
  }

  /** @returns whether others could wait for it until now. */
  unregister(key: string, fill: object): boolean {
    return this.fills.get(key)?.fill === fill && this.fills.delete(key);
  }

  count(stored: StoredResponse): void {
    if (stored.uses++ === 0) this.used.add(stored);
  }

  /** Reports which entries have been used, once a second. */
  report(): void {
    if (this.used.size === 0) return;
    const counts = [...this.used].map(({ entry, uses }) => [entry.id, uses] as const);
    for (const stored of this.used) stored.uses = 0;
    this.used.clear();
    this.tools.post({ kind: 'used', counts });
  }

  /** Queries the main thread; `then` is called with whether an entry is stored. */
  lookUp(key: string, then: (found: boolean) => void): void {
    const waiting = this.lookUps.get(key);
    if (waiting !== undefined) return void waiting.push(then);
    this.lookUps.set(key, [then]);
    this.tools.post({ kind: 'look-up', key });
  }

  handle(message: CacheToWorker): void {
    if (message.kind === 'found') {
      const { key, entries, purged } = message;
      this.purges.skipTo(purged);
      if (this.enabled) for (const entry of entries) if (!this.ids.has(entry.id)) this.add(this.responseOf(entry));
      const waiting = this.lookUps.get(key) ?? [];
      this.lookUps.delete(key);
      for (const then of waiting) then(entries.length > 0);
      return;
    }
    if (message.successor !== undefined) this.bodies.keepFor(message.successor);
    const why = message.resized || !this.enabled ? 'resized' : isOfMany(message.purged) ? 'purged' : 'replaced or evicted';
    for (const id of message.ids) {
      const stored = this.ids.get(id);
      if (stored !== undefined) this.remove(stored, why);
      this.bodies.gone(id, why);
    }
    if (message.purged === null) return;
    const { number, purge } = message.purged;
    this.purges.add(number, purge);
    this.tools.post({ kind: 'purged', purged: number });
  }

  responseOf(entry: CacheEntry): StoredResponse {
    return new StoredResponse(entry, this.bodies.of(entry));
  }

  /** Keeps a new entry here and offers it to the main thread. */
  store(entry: CacheEntry, since: number, replaces: StoredResponse | null): StoredResponse {
    const stored = this.responseOf(entry);
    this.tools.post({ kind: 'store', entry, since, replaces: replaces?.entry.id ?? null });
    // The one that it replaces may have the same body.
    stored.body.stored();
    if (replaces !== null) this.remove(replaces);
    if (this.enabled && !this.purges.removes(entry, since)) this.add(stored);
    stored.body.removed('replaced or evicted');
    return stored;
  }

  /** Removes entries that a request with an unsafe method may have changed, at once in this worker and soon in all others. */
  invalidate(host: string, targets: readonly string[], keys: readonly string[]): void {
    for (const key of keys) {
      this.forgetKey(key);
      this.fills.delete(key);
    }
    this.tools.post({ kind: 'invalidate', host, targets });
  }

  /**
   * Whether a request should not wait for others, nor others for it. `personal`: its response may be personal, which says nothing about
   * the responses to others. `fields`: its own if it is for a whole response. If what is known is about requests with other fields that
   * decide, one at a time tries whether its response can be stored.
   */
  isUncacheable(key: string, personal: boolean, url: Url, now: number, fields: string | null): boolean {
    const name = markOf(key, personal);
    const mark = this.uncacheable.get(name);
    if (mark === undefined) return false;
    const { purges } = this;
    // Too far ahead after the clock has been set back.
    for (const [variant, until] of mark.variants) if (until <= now || until > now + UNCACHEABLE_MS) mark.variants.delete(variant);
    if (mark.variants.size === 0 || purges.mayRemove(url, mark.since)) {
      this.uncacheable.delete(name);
      return false;
    }
    mark.since = purges.newest;
    return fields === null || mark.variants.has(digestOf(variantOf(fields, mark.vary))) || this.underWay(key, url) !== null;
  }

  /** The response to a request with these fields, which varies by the ones that are named, can't be stored. */
  markUncacheable(key: string, personal: boolean, now: number, fields: string, names: readonly string[]): void {
    if (this.uncacheable.size >= MAX_UNCACHEABLE) this.uncacheable.clear();
    // Many long names are not worth their memory: then it is taken for all requests.
    const vary = names.join().length > LONGEST_KEY ? [] : names.map(ownCopy);
    const name = ownCopy(markOf(key, personal));
    const known = this.uncacheable.get(name);
    const since = this.purges.newest;
    const variants = known?.since === since && sameNames(known.vary, vary) ? known.variants : new Map<string, number>();
    if (variants.size >= MAX_UNCACHEABLE_VARIANTS) variants.clear();
    variants.set(ownCopy(digestOf(variantOf(fields, vary))), now + UNCACHEABLE_MS);
    this.uncacheable.set(name, { since, vary, variants });
  }

  private add(stored: StoredResponse): void {
    const { entry, body } = stored;
    body.stored();
    const variants = this.keys.get(entry.key) ?? [];
    const same = variants.find((other) => other.entry.variant === entry.variant && sameNames(other.entry.vary, entry.vary));
    if (same !== undefined) this.remove(same);
    this.keys.set(entry.key, [stored, ...(this.keys.get(entry.key) ?? [])]);
    this.ids.set(entry.id, stored);
  }

  private remove(stored: StoredResponse, why: Removal = 'replaced or evicted'): void {
    const { id, key } = stored.entry;
    if (this.ids.get(id) === stored) stored.body.removed(why);
    this.ids.delete(id);
    this.used.delete(stored);
    const left = (this.keys.get(key) ?? []).filter((other) => other !== stored);
    if (left.length === 0) this.keys.delete(key);
    else this.keys.set(key, left);
  }

  private forgetKey(key: string, why?: Removal): void {
    for (const stored of [...(this.keys.get(key) ?? [])]) this.remove(stored, why);
  }
}

/** Clients can cause that of one URL, and again and again. */
const isOfMany = (purged: Extract<CacheToWorker, { kind: 'gone' }>['purged']): boolean => purged !== null && purged.purge.kind !== 'target';

/** Keys begin with the scheme. */
const markOf = (key: string, personal: boolean): string => digestOf(personal ? `personal ${key}` : key);

const digestOf = (text: string): string => (text.length > LONGEST_KEY ? hash('sha256', text, 'base64') : text);

const sameNames = (one: readonly string[], other: readonly string[]): boolean => one.join() === other.join();

import { PurgeLog } from '../../shared/policy/cache/purge-log.ts';
import type { Purge } from '../../shared/wire/purge.ts';
import type { CacheEntry, CacheFromWorker, CacheToWorker } from '../traffic/cache-messages.ts';
import type { DiskPurge, DiskTier } from './disk/disk-tier.ts';
import { matches } from './matching.ts';
import { type RouteShare, RouteShares } from './route-shares.ts';
import { Tags } from './tags.ts';
import { TinyLfu } from './tiny-lfu.ts';
import { targetKey, UrlIndex } from './url-index.ts';

/** The overhead of an entry besides its body and fields, in this index and in those of the workers (bytes). */
const ENTRY_BYTES = 2_048;
/** The maximum number of responses to one URL that differ by Vary. */
const MAX_VARIANTS = 32;
/**
 * The maximum size of the responses to one URL that are read from disk, as a fraction of the cache: as much as a single response may take.
 */
const READ_PART = 0.1;

type IndexedEntry = {
  readonly entry: CacheEntry;
  readonly name: string;
  cost: number;
  readonly place: string;
  readonly share: RouteShare;
};

export type CacheIndexTools = {
  /** Sends a message to the worker that asked. */
  reply(worker: number, message: CacheToWorker): void;
  /** Sends a message to all workers. */
  broadcast(message: CacheToWorker): void;
  /** The responses that are also kept on disk; null if none are. */
  readonly disk?: Pick<DiskTier, 'read' | 'offer' | 'used' | 'purge' | 'resize'> | null;
};

/** The figures of the cache, for metrics. */
export type CacheStatus = {
  readonly size: number;
  readonly used: number;
  readonly entries: number;
  readonly evicted: number;
  readonly routes: ReturnType<RouteShares['list']>;
};

/** The index of the cache: which responses are stored, evicted and purged. It refers to bodies but doesn't hold them. */
export class CacheIndex {
  private readonly tools: CacheIndexTools;
  private readonly policy: TinyLfu<IndexedEntry>;
  private readonly ids = new Map<number, IndexedEntry>();
  private readonly keys = new Map<string, IndexedEntry[]>();
  private readonly places = new UrlIndex<IndexedEntry>();
  private readonly tags = new Tags<IndexedEntry>();
  private readonly purges = new PurgeLog();
  private readonly shares = new RouteShares();
  /** Workers that wait for the disk, by key. */
  private readonly waiting = new Map<string, number[]>();
  private size: number;
  private evicted = 0;

  constructor(size: number, tools: CacheIndexTools) {
    this.size = size;
    this.tools = tools;
    this.policy = new TinyLfu(size);
  }

  get enabled(): boolean {
    return this.size > 0;
  }

  get status(): CacheStatus {
    const { policy, evicted, size } = this;
    return { size, used: policy.used, entries: policy.count, evicted, routes: this.shares.list() };
  }

  /** The number of the last purge. */
  get purged(): number {
    return this.purges.newest;
  }

  resize(size: number): void {
    this.size = size;
    this.evict(this.policy.resize(size), { resized: true });
    this.tools.disk?.resize(size);
  }

  handle(worker: number, message: CacheFromWorker): void {
    switch (message.kind) {
      case 'look-up':
        return this.lookUp(worker, message.key);
      case 'store':
        return this.store(message.entry, message.since, message.replaces);
      case 'used':
        for (const [id, count] of message.counts) {
          const held = this.ids.get(id);
          if (held !== undefined) this.policy.touch(held, count);
        }
        return this.tools.disk?.used(message.counts);
      case 'invalidate':
        for (const target of message.targets) void this.purgeEverywhere({ kind: 'target', host: message.host, target }, false);
    }
  }

  private lookUp(worker: number, key: string): void {
    const { disk } = this.tools;
    if (disk && this.enabled && !this.keys.has(key)) {
      const waiting = this.waiting.get(key);
      if (waiting !== undefined) return void waiting.push(worker);
      const since = this.purged;
      if (disk.read(key, this.size * READ_PART, (entries) => this.promote(key, entries, since)))
        return void this.waiting.set(key, [worker]);
    }
    this.answer(worker, key);
  }

  private answer(worker: number, key: string): void {
    this.tools.reply(worker, { kind: 'found', key, entries: (this.keys.get(key) ?? []).map(({ entry }) => entry), purged: this.purged });
  }

  /** Stores a response that was read from disk, unless a newer one is stored or it has been purged since. */
  private promote(key: string, entries: readonly CacheEntry[], since: number): void {
    for (const entry of [...entries].sort((one, other) => one.receivedAt - other.receivedAt))
      if (this.enabled && this.sameAs(entry, null).length === 0 && !this.purges.removes(entry, since)) this.add(entry);
    const workers = this.waiting.get(key) ?? [];
    this.waiting.delete(key);
    for (const worker of workers) this.answer(worker, key);
  }

  /**
   * Removes entries from memory, before it returns, and from the disk, before it resolves. `urgent`: a caller waits for it.
   */
  async purgeEverywhere(purge: Purge, urgent: boolean): Promise<DiskPurge> {
    const found = this.purgeMemory(purge);
    const { disk } = this.tools;
    if (!disk) return { count: found.length, saved: true };
    const { count, saved } = await disk.purge(purge, found, urgent);
    return { count: found.length + count, saved };
  }

  /** Removes entries from memory. @returns how many there were. */
  purge(purge: Purge): number {
    return this.purgeMemory(purge).length;
  }

  /** @returns their numbers. */
  private purgeMemory(purge: Purge): number[] {
    const found = [...this.matching(purge)];
    for (const held of found) this.remove(held);
    const number = this.purged + 1;
    this.purges.add(number, purge);
    const ids = found.map(({ entry }) => entry.id);
    this.tools.broadcast({ kind: 'gone', ids, purged: { number, purge } });
    return ids;
  }

  private store(entry: CacheEntry, since: number, replaces: number | null): void {
    if (!this.enabled || this.purges.removes(entry, since)) {
      this.tools.broadcast({ kind: 'gone', ids: [entry.id], purged: null });
      return;
    }
    const gone = this.sameAs(entry, replaces);
    for (const held of gone) this.remove(held);
    // Before it may be evicted: clients of other workers may be reading the same body.
    const { id, bodyId } = entry;
    if (gone.length > 0)
      this.tools.broadcast({ kind: 'gone', ids: gone.map((held) => held.entry.id), purged: null, successor: { id, bodyId } });
    this.tools.disk?.offer(entry, replaces);
    this.add(entry);
  }

  /** The entry that a new one replaces. */
  private sameAs(entry: CacheEntry, replaces: number | null): IndexedEntry[] {
    const old = replaces === null ? undefined : this.ids.get(replaces);
    return (this.keys.get(entry.key) ?? []).filter(
      (held) => held === old || (held.entry.variant === entry.variant && held.entry.vary.join() === entry.vary.join()),
    );
  }

  private add(entry: CacheEntry): void {
    const { fields, length, key, variant } = entry;
    // Clients choose what is in the key and the variant, and upstreams the rest.
    const cost = length + 2 * (fields.length + key.length + variant.length) + this.tags.bytesFor(entry) + ENTRY_BYTES;
    const held: IndexedEntry = { entry, name: key, cost, place: targetKey(entry.host, entry.target), share: this.shares.of(entry.domain) };
    this.ids.set(entry.id, held);
    held.share.bytes += cost;
    held.share.entries++;
    this.keys.set(key, [held, ...(this.keys.get(key) ?? [])]);
    this.places.add(held);
    this.tags.add(held);
    const variants = this.keys.get(key) ?? [];
    const surplus = variants.slice(MAX_VARIANTS);
    for (const other of surplus) this.remove(other);
    this.evict([...surplus, ...this.policy.add(held)]);
  }

  private evict(held: readonly IndexedEntry[], why: { readonly resized?: true } = {}): void {
    for (const one of held) {
      this.remove(one);
      one.share.evicted++;
    }
    this.evicted += held.length;
    const ids = held.map(({ entry }) => entry.id);
    if (ids.length > 0) this.tools.broadcast({ kind: 'gone', ids, purged: null, ...why });
  }

  private *matching(purge: Purge): Iterable<IndexedEntry> {
    if (purge.kind === 'target') yield* this.places.at(purge.host, purge.target);
    else if (purge.kind === 'tag') yield* this.tags.with(purge.tag);
    else for (const held of this.ids.values()) if (matches(purge, held.entry)) yield held;
  }

  private remove(held: IndexedEntry): void {
    if (!this.ids.delete(held.entry.id)) return;
    this.policy.remove(held);
    held.share.bytes -= held.cost;
    held.share.entries--;
    const left = (this.keys.get(held.entry.key) ?? []).filter((other) => other !== held);
    if (left.length === 0) this.keys.delete(held.entry.key);
    else this.keys.set(held.entry.key, left);
    this.places.remove(held);
    this.tags.remove(held, (heir, bytes) => {
      this.policy.enlarge(heir, bytes);
      heir.share.bytes += bytes;
    });
  }
}

import type { Purge } from '../../../shared/wire/purge.ts';
import { matches } from '../matching.ts';
import { Tags } from '../tags.ts';
import { TinyLfu } from '../tiny-lfu.ts';
import { targetKey, UrlIndex } from '../url-index.ts';
import type { SavedHead } from './entry-shape.ts';
import type { KeyFilter } from './key-filter.ts';

/** The maximum number of files, and the maximum memory of this index (bytes), regardless of the size of the disk. */
const MAX_FILES = 250_000;
const MAX_MEMORY = 268_435_456;
/** Memory for a file besides its texts, and the least disk space that the system allocates (bytes). */
const ENTRY_MEMORY = 1_000;
const BLOCK = 4_096;
/** The maximum number of responses to one URL that differ by Vary. */
const MAX_VARIANTS = 32;

type IndexedHead = Pick<SavedHead, 'keyDigest' | 'host' | 'target' | 'queryRule' | 'tags' | 'length'>;

/** The properties of a file that are known without reading it. */
export type OnDisk = {
  /** Of the file. */
  readonly name: string;
  readonly entry: IndexedHead;
  readonly place: string;
  /** Of the file (bytes). */
  readonly bytes: number;
  /** Of what is known of it (bytes). */
  memory: number;
  cost: number;
  /** Its number in memory; 0 if it has not been in memory. */
  id: number;
};

/** Which responses are on disk, and which of them are evicted when space runs out. */
export class DiskIndex {
  private readonly size: number;
  private readonly filter: KeyFilter;
  private readonly policy: TinyLfu<OnDisk>;
  private readonly names = new Map<string, OnDisk>();
  private readonly ids = new Map<number, OnDisk>();
  private readonly keys = new Map<string, OnDisk[]>();
  private readonly places = new UrlIndex<OnDisk>();
  private readonly tags = new Tags<OnDisk>();
  bytes = 0;

  constructor(size: number, filter: KeyFilter) {
    this.size = size;
    this.filter = filter;
    this.policy = new TinyLfu(size);
  }

  get entries(): number {
    return this.names.size;
  }

  has(name: string): boolean {
    return this.names.has(name);
  }

  get(name: string): OnDisk | undefined {
    return this.names.get(name);
  }

  withId(id: number): OnDisk | undefined {
    return this.ids.get(id);
  }

  /** The newest first. */
  of(keyDigest: string): readonly OnDisk[] {
    return this.keys.get(keyDigest) ?? [];
  }

  /** @returns the evicted files, possibly including the new one. */
  add(name: string, head: SavedHead, bytes: number, id: number): OnDisk[] {
    this.remove(name);
    const { keyDigest, host, target, queryRule, tags, length } = head;
    const place = targetKey(host, target);
    const texts = keyDigest.length + target.length + 2 * place.length + tags.join('').length;
    const memory = ENTRY_MEMORY + texts + this.tags.bytesFor(head);
    const onDisk = Math.ceil(bytes / BLOCK) * BLOCK;
    const cost = this.costOf(onDisk, memory);
    const one: OnDisk = { name, entry: { keyDigest, host, target, queryRule, tags, length }, place, bytes: onDisk, memory, cost, id };
    this.names.set(name, one);
    if (id !== 0) this.ids.set(id, one);
    this.keys.set(keyDigest, [one, ...this.of(keyDigest)]);
    this.places.add(one);
    this.tags.add(one);
    this.filter.add(keyDigest);
    this.bytes += onDisk;
    const gone = [...this.of(keyDigest).slice(MAX_VARIANTS), ...this.policy.add(one)];
    for (const { name: other } of gone) this.remove(other);
    return gone;
  }

  /** The cost of a file is its share of the scarcest resource: disk space, number of files, or memory. */
  private costOf(onDisk: number, memory: number): number {
    return Math.ceil(Math.max(onDisk, this.size / MAX_FILES, (this.size * memory) / MAX_MEMORY));
  }

  /** Evicts a share of all files. @returns them. */
  shed(part: number): OnDisk[] {
    const gone = this.policy.shed(this.policy.used * part);
    for (const { name } of gone) this.remove(name);
    return gone;
  }

  remove(name: string): OnDisk | null {
    const one = this.names.get(name);
    if (one === undefined) return null;
    const { keyDigest } = one.entry;
    this.names.delete(name);
    if (this.ids.get(one.id) === one) this.ids.delete(one.id);
    const left = this.of(keyDigest).filter((other) => other !== one);
    if (left.length === 0) this.keys.delete(keyDigest);
    else this.keys.set(keyDigest, left);
    this.places.remove(one);
    this.tags.remove(one, (heir, bytes) => {
      heir.memory += bytes;
      this.policy.enlarge(heir, this.costOf(heir.bytes, heir.memory) - heir.cost);
    });
    this.policy.remove(one);
    this.filter.remove(keyDigest);
    this.bytes -= one.bytes;
    return one;
  }

  /** It is in memory under another number. */
  renumber(one: OnDisk, id: number): void {
    this.ids.delete(one.id);
    one.id = id;
    this.ids.set(id, one);
  }

  touch(id: number, times: number): void {
    const one = this.ids.get(id);
    if (one !== undefined) this.policy.touch(one, times);
  }

  matching(purge: Purge): OnDisk[] {
    if (purge.kind === 'target') return [...this.places.at(purge.host, purge.target)];
    if (purge.kind === 'tag') return [...this.tags.with(purge.tag)];
    return [...this.names.values()].filter(({ entry }) => matches(purge, entry));
  }

  clear(): void {
    for (const name of [...this.names.keys()]) this.remove(name);
    this.filter.clear();
  }
}

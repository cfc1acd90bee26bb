import { CATCH_ALL, MAX_DOMAIN } from '../../../shared/values/host.ts';
import type { EntriesPublication } from '../protocol.ts';
import { PackedEntry, readPacked } from './packed.ts';

/** Compiled if it has been used, else packed. */
type Entry<Compiled> = Compiled | PackedEntry;

/** Up to this many changes are applied in place, in one turn. More are staged beside the index and swapped. */
const IN_PLACE = 500;
/** Entries staged per turn: about 1 ms, or 5 ms while the code is cold. */
const STEP = 1_000;

/** A compiled entry may be limited to some ports; null means all. */
type PortBound = { readonly ports: readonly number[] | null };

/** An entry with more JSON (bytes) would take too long to compile in one turn, so that is done in several before it takes effect. */
export const LARGE_BYTES = 65_536;

/**
 * Compiles a large entry; null if that fails, as it will when it is used. `before` is the entry that it replaces, if that has been
 * compiled.
 */
type Prepare<Compiled> = (entry: PackedEntry, before: Compiled | null, nextTurn: () => Promise<void>) => Promise<Compiled | null>;

/** In place of a port: any port. */
export const ANY_PORT = -1;

/**
 * Maps a host to its entry. Exact names come first, then `*.` of the parent, then `*.` of the names above it where the entry says that its
 * wildcard stands for several labels, then the catch-all, one lookup each. An entry for other ports counts as none. Entries are compiled on
 * first use, so a worker with 100,000 routes pays only for those in use.
 */
export class HostIndex<Compiled extends PortBound> {
  private entries = new Map<string, Entry<Compiled>>();
  /** The wildcards that stand for several labels. */
  private deep = new Set<string>();
  private readonly compile: (domain: string, json: string) => Compiled;
  private readonly prepare: Prepare<Compiled> | null;

  constructor(compile: (domain: string, json: string) => Compiled, prepare: Prepare<Compiled> | null = null) {
    this.compile = compile;
    this.prepare = prepare;
  }

  get size(): number {
    return this.entries.size;
  }

  /** `also`: what else counts as served at the port. */
  find(host: string, port: number, also: ((entry: Compiled) => boolean) | null = null): Compiled | null {
    const exact = this.servedAt(host, port, also);
    if (exact !== null) return exact;
    const dot = host.indexOf('.');
    if (dot > 0) {
      const wildcard =
        this.servedAt(`*${host.slice(dot)}`, port, also) ?? (this.deep.size === 0 ? null : this.findAbove(host, dot, port, also));
      if (wildcard !== null) return wildcard;
    }
    return this.servedAt(CATCH_ALL, port, also);
  }

  /** The most specific wildcard for several labels; `dot` ends the first label. */
  private findAbove(host: string, dot: number, port: number, also: ((entry: Compiled) => boolean) | null): Compiled | null {
    if (host.length > MAX_DOMAIN) return null;
    for (let at = host.indexOf('.', dot + 1); at > 0; at = host.indexOf('.', at + 1)) {
      const wildcard = `*${host.slice(at)}`;
      const found = this.deep.has(wildcard) ? this.servedAt(wildcard, port, also) : null;
      if (found !== null) return found;
    }
    return null;
  }

  private servedAt(domain: string, port: number, also: ((entry: Compiled) => boolean) | null): Compiled | null {
    const entry = this.entries.get(domain);
    if (entry === undefined) return null;
    const compiled = this.compiled(domain, entry);
    return compiled.ports === null || port === ANY_PORT || compiled.ports.includes(port) || also?.(compiled) ? compiled : null;
  }

  /** The entry for exactly this domain. Wildcards are looked up as written. */
  at(domain: string): Compiled | null {
    const entry = this.entries.get(domain);
    return entry === undefined ? null : this.compiled(domain, entry);
  }

  /**
   * Applies a publication. Resolves in the turn in which all of its changes take effect; before that, none has.
   * @returns the compiled entries that were replaced or removed, by domain. Read them before the next call.
   */
  async apply(change: EntriesPublication, nextTurn: () => Promise<void>): Promise<Iterable<readonly [string, Compiled]>> {
    if (!change.whole && change.count + change.removed.length <= IN_PLACE) {
      const large = [...readPacked(change)].filter(({ size }) => this.isLarge(size));
      return this.applyInPlace(change, large.length === 0 ? new Map() : await this.prepareAll(large, nextTurn));
    }
    const staged = new Map<string, Entry<Compiled>>();
    const deep = new Set(change.whole ? [] : this.deep);
    let steps = 0;
    const pause = async () => {
      if (++steps % STEP === 0) await nextTurn();
    };
    if (!change.whole) {
      for (const [domain, entry] of this.entries) {
        staged.set(domain, entry);
        await pause();
      }
      for (const domain of change.removed) {
        staged.delete(domain);
        deep.delete(domain);
      }
    }
    for (const entry of readPacked(change)) {
      staged.set(entry.domain, this.isLarge(entry.size) ? await this.prepared(entry, nextTurn) : entry);
      this.note(entry, deep);
      await pause();
    }
    const before = this.entries;
    this.entries = staged;
    this.deep = deep;
    return this.replaced(before);
  }

  private isLarge(size: number): boolean {
    return this.prepare !== null && size > LARGE_BYTES;
  }

  private async prepareAll(large: readonly PackedEntry[], nextTurn: () => Promise<void>): Promise<ReadonlyMap<string, Entry<Compiled>>> {
    const prepared = new Map<string, Entry<Compiled>>();
    for (const entry of large) prepared.set(entry.domain, await this.prepared(entry, nextTurn));
    return prepared;
  }

  private async prepared(entry: PackedEntry, nextTurn: () => Promise<void>): Promise<Entry<Compiled>> {
    const before = this.entries.get(entry.domain) ?? null;
    return (await this.prepare?.(entry, before instanceof PackedEntry ? null : before, nextTurn)) ?? entry;
  }

  private applyInPlace(change: EntriesPublication, prepared: ReadonlyMap<string, Entry<Compiled>>): (readonly [string, Compiled])[] {
    const { deep } = this;
    const replaced: (readonly [string, Compiled])[] = [];
    const replace = (domain: string) => {
      const was = this.entries.get(domain);
      if (was !== undefined && !(was instanceof PackedEntry)) replaced.push([domain, was]);
    };
    for (const domain of change.removed) {
      replace(domain);
      this.entries.delete(domain);
      deep.delete(domain);
    }
    for (const entry of readPacked(change)) {
      replace(entry.domain);
      this.entries.set(entry.domain, prepared.get(entry.domain) ?? entry);
      this.note(entry, deep);
    }
    return replaced;
  }

  private note(entry: PackedEntry, deep: Set<string>): void {
    if (entry.severalLabels) deep.add(entry.domain);
    else deep.delete(entry.domain);
  }

  private *replaced(before: ReadonlyMap<string, Entry<Compiled>>): Generator<readonly [string, Compiled]> {
    for (const [domain, was] of before) if (!(was instanceof PackedEntry) && this.entries.get(domain) !== was) yield [domain, was];
  }

  private compiled(domain: string, entry: Entry<Compiled>): Compiled {
    if (!(entry instanceof PackedEntry)) return entry;
    const compiled = this.compile(domain, entry.json());
    this.entries.set(domain, compiled);
    return compiled;
  }
}

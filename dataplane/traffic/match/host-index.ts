import { CATCH_ALL } from '../../../shared/values/host.ts';
import type { EntriesPublication } from '../protocol.ts';
import { PackedEntry, readPacked } from './packed.ts';

/** Compiled if it has been used, else packed. */
type Entry<Compiled> = Compiled | PackedEntry;

/** Up to this many changes are applied in place, in one turn. More are staged beside the index and swapped. */
const IN_PLACE = 500;
/** Entries staged per turn: about 1 ms, or 5 ms while the code is cold. */
const STEP = 1_000;

/**
 * Maps a host to its entry. Exact names come first, then `*.` of the parent, then the catch-all, one lookup each. Entries are compiled on
 * first use, so a worker with 100,000 routes pays only for those in use.
 */
export class HostIndex<Compiled extends object> {
  private entries = new Map<string, Entry<Compiled>>();
  private readonly compile: (domain: string, json: string) => Compiled;

  constructor(compile: (domain: string, json: string) => Compiled) {
    this.compile = compile;
  }

  get size(): number {
    return this.entries.size;
  }

  find(host: string): Compiled | null {
    const exact = this.entries.get(host);
    if (exact !== undefined) return this.compiled(host, exact);
    const dot = host.indexOf('.');
    if (dot > 0) {
      const wildcard = `*${host.slice(dot)}`;
      const entry = this.entries.get(wildcard);
      if (entry !== undefined) return this.compiled(wildcard, entry);
    }
    const rest = this.entries.get(CATCH_ALL);
    return rest === undefined ? null : this.compiled(CATCH_ALL, rest);
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
    if (!change.whole && change.count + change.removed.length <= IN_PLACE) return this.applyInPlace(change);
    const staged = new Map<string, Entry<Compiled>>();
    let steps = 0;
    const pause = async () => {
      if (++steps % STEP === 0) await nextTurn();
    };
    if (!change.whole) {
      for (const [domain, entry] of this.entries) {
        staged.set(domain, entry);
        await pause();
      }
      for (const domain of change.removed) staged.delete(domain);
    }
    for (const entry of readPacked(change)) {
      staged.set(entry.domain, entry);
      await pause();
    }
    const before = this.entries;
    this.entries = staged;
    return this.replaced(before);
  }

  private applyInPlace(change: EntriesPublication): (readonly [string, Compiled])[] {
    const replaced: (readonly [string, Compiled])[] = [];
    const replace = (domain: string) => {
      const was = this.entries.get(domain);
      if (was !== undefined && !(was instanceof PackedEntry)) replaced.push([domain, was]);
    };
    for (const domain of change.removed) {
      replace(domain);
      this.entries.delete(domain);
    }
    for (const entry of readPacked(change)) {
      replace(entry.domain);
      this.entries.set(entry.domain, entry);
    }
    return replaced;
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

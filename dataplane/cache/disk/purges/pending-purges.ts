import { compileQueryRule } from '../../../../shared/policy/cache/query-rule.ts';
import type { Purge } from '../../../../shared/wire/purge.ts';
import { matches, type Purgeable } from '../../matching.ts';
import { targetKey } from '../../url-index.ts';

/** With more than this, everything that has not been indexed yet counts as purged. */
const MAX = 100_000;

/** Purges that apply to files that have not been read yet. Each file is compared with all of them at once. */
export class PendingPurges {
  private readonly targets = new Map<string, string[]>();
  private readonly others: Purge[] = [];
  /** The targets of a host as reduced by a rule about query parameters; `seen` is how many of the targets they include. */
  private readonly places = new Map<string, { readonly places: Set<string>; seen: number }>();
  private count = 0;

  add(purge: Purge): void {
    this.count++;
    if (this.count > MAX) return;
    if (purge.kind !== 'target') return void this.others.push(purge);
    const list = this.targets.get(purge.host);
    if (list === undefined) this.targets.set(purge.host, [purge.target]);
    else list.push(purge.target);
  }

  get size(): number {
    return this.count;
  }

  removes(entry: Purgeable): boolean {
    if (this.count === 0) return false;
    if (this.count > MAX) return true;
    if (this.others.some((purge) => matches(purge, entry))) return true;
    const targets = this.targets.get(entry.host);
    return targets !== undefined && this.placesOf(entry, targets).has(targetKey(entry.host, entry.target));
  }

  private placesOf({ host, queryRule }: Purgeable, targets: readonly string[]): Set<string> {
    const name = `${host}\n${queryRule}`;
    const known = this.places.get(name) ?? { places: new Set<string>(), seen: 0 };
    this.places.set(name, known);
    const filter = queryRule === '' ? null : compileQueryRule(JSON.parse(queryRule));
    for (; known.seen < targets.length; known.seen++) {
      const target = targets[known.seen] as string;
      known.places.add(targetKey(host, target));
      if (filter !== null) known.places.add(targetKey(host, filter(target)));
    }
    return known.places;
  }
}

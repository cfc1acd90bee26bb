/** How many hosts below one wildcard are kept, and the approximate memory (bytes) of those of all wildcards together. */
export type WildcardLimits = { readonly hosts: number; readonly bytes: number };

type Group = { readonly sizes: Map<string, number>; bytes: number };

/** The hosts below each wildcard with their sizes, least recently used first. Clients can invent any number of them. */
export class WildcardHosts {
  private readonly limits: WildcardLimits;
  private readonly groups = new Map<string, Group>();
  private bytes = 0;

  constructor(limits: WildcardLimits) {
    this.limits = limits;
  }

  /** Marks a host as used. */
  use(pattern: string, host: string, bytes: number): void {
    this.remove(pattern, host);
    const group = this.groups.get(pattern) ?? { sizes: new Map(), bytes: 0 };
    this.groups.set(pattern, group);
    group.sizes.set(host, bytes);
    group.bytes += bytes;
    this.bytes += bytes;
  }

  remove(pattern: string, host: string): void {
    const group = this.groups.get(pattern);
    const bytes = group?.sizes.get(host);
    if (group === undefined || bytes === undefined) return;
    group.sizes.delete(host);
    group.bytes -= bytes;
    this.bytes -= bytes;
    if (group.sizes.size === 0) this.groups.delete(pattern);
  }

  /** Removes the host of a wildcard that has been idle longest if there are too many of that wildcard. */
  takeSurplus(pattern: string): string | undefined {
    const group = this.groups.get(pattern);
    return group === undefined || group.sizes.size <= this.limits.hosts ? undefined : this.takeIdle(pattern, group);
  }

  /**
   * If all take too much memory, removes hosts, those idle longest first, of the wildcards whose hosts take most: invented ones push out
   * none of another wildcard. Each time, an eighth is freed, since all wildcards are examined.
   */
  *takeLargest(): Generator<readonly [pattern: string, host: string]> {
    if (this.bytes <= this.limits.bytes) return;
    const groups = [...this.groups];
    const share = shareOf(
      groups.map(([, { bytes }]) => bytes),
      this.limits.bytes * (7 / 8),
    );
    for (const [pattern, group] of groups)
      while (group.bytes > share) {
        const host = this.takeIdle(pattern, group);
        if (host === undefined) break;
        yield [pattern, host];
      }
  }

  private takeIdle(pattern: string, { sizes }: Group): string | undefined {
    const [idle] = sizes.keys();
    if (idle !== undefined) this.remove(pattern, idle);
    return idle;
  }
}

/** The largest size that none has to exceed for all to fit into `bytes`. */
function shareOf(sizes: readonly number[], bytes: number): number {
  let left = bytes;
  for (const [at, size] of sizes.toSorted((a, b) => a - b).entries()) {
    const share = left / (sizes.length - at);
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

import type { SiteIssuance } from '../../../shared/certificates/issuer.ts';
import type { OwnedRoute } from '../table.ts';
import { lostTargetsIn } from '../unconfirmed/mark-lost.ts';
import { type UnconfirmedSource, unconfirmedSourcesIn } from '../unconfirmed/unconfirmed.ts';
import { awaitsController, type Claims, isOverridden, isUnconfirmed, NO_CLAIMS, siteOf, sitesOf, visible } from './claims.ts';
import type { Delta } from './delta.ts';
import { LazyOwnedRoute } from './lazy-owned-route.ts';

/** All claims by domain, with lists and counts. */
export class ClaimTable {
  private readonly claims: Map<string, Claims>;
  private sorted: readonly OwnedRoute[] | null = null;
  private overridden: number;
  private awaiting: number;

  constructor(claims: Map<string, Claims>) {
    this.claims = claims;
    const all = [...claims.values()];
    this.overridden = all.filter(isOverridden).length;
    this.awaiting = all.filter(({ applied }) => awaitsController(applied)).length;
  }

  get byDomain(): ReadonlyMap<string, Claims> {
    return this.claims;
  }

  get(domain: string): Claims {
    return this.claims.get(domain) ?? NO_CLAIMS;
  }

  list(): readonly OwnedRoute[] {
    this.sorted ??= [...this.claims.keys()].sort().map((domain) => new LazyOwnedRoute(this.get(domain)));
    return this.sorted;
  }

  /** The controllers' routes that posted ones override; null for each other route. */
  *overrides(): Generator<{ readonly domain: string; readonly controller: string; readonly since: number } | null> {
    let left = this.overridden;
    for (const [domain, { hand, applied }] of this.claims) {
      if (left === 0) return;
      const isOne = hand !== null && applied !== null;
      if (isOne) left--;
      yield isOne ? { domain, controller: applied.controller ?? '', since: hand.since } : null;
    }
  }

  find(domain: string): OwnedRoute | undefined {
    const claims = this.claims.get(domain);
    return claims && new LazyOwnedRoute(claims);
  }

  sites(): Iterable<SiteIssuance> {
    return sitesOf(this.claims);
  }

  site(domain: string): SiteIssuance | null {
    return siteOf(domain, this.claims.get(domain));
  }

  counts(): { routes: number; overridden: number } {
    return { routes: this.claims.size, overridden: this.overridden };
  }

  routesByController(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const claims of this.claims.values()) {
      const owner = visible(claims)?.controller ?? null;
      if (owner !== null) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    }
    return counts;
  }

  /** Whether any claim has targets that await its controller, including overridden ones. */
  get hasAwaiting(): boolean {
    return this.awaiting > 0;
  }

  get unconfirmedRoutes(): number {
    if (!this.hasAwaiting) return 0;
    return [...this.claims.values()].filter((claims) => isUnconfirmed(visible(claims))).length;
  }

  unconfirmedSources(): UnconfirmedSource[] {
    return this.hasAwaiting ? unconfirmedSourcesIn(this.claims) : [];
  }

  /** By controller and `lostName`. */
  lostTargets(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.hasAwaiting ? lostTargetsIn(this.claims) : new Map();
  }

  /** Replaces the claims to some domains in one turn of the event loop, so that no reader sees a partial change. */
  swap(changes: ReadonlyMap<string, Claims>, { overridden, awaiting }: Delta): void {
    for (const [domain, claims] of changes) {
      if (visible(claims) === null) this.claims.delete(domain);
      else this.claims.set(domain, claims);
    }
    if (changes.size > 0) this.sorted = null;
    this.overridden += overridden;
    this.awaiting += awaiting;
  }
}

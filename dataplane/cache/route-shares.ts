import { MAX_DOMAIN_LABELS, OVERFLOW_LABEL } from '../../shared/domain-labels.ts';

/** What one route has of the cache; `evicted` since the start. */
export type RouteShare = { bytes: number; entries: number; evicted: number };

/** The shares of the routes that have stored anything, by their pattern. As labels of metrics they are bounded: the others are one share. */
export class RouteShares {
  private readonly shares = new Map<string, RouteShare>();

  of(domain: string): RouteShare {
    const known = this.shares.get(domain);
    if (known !== undefined) return known;
    const name = this.shares.size < MAX_DOMAIN_LABELS ? domain : OVERFLOW_LABEL;
    const share = this.shares.get(name) ?? { bytes: 0, entries: 0, evicted: 0 };
    this.shares.set(name, share);
    return share;
  }

  list(): Iterable<readonly [domain: string, share: Readonly<RouteShare>]> {
    return this.shares;
  }
}

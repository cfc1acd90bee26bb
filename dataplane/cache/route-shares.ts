import { MAX_DOMAIN_LABELS, OVERFLOW_LABEL } from '../../shared/domain-labels.ts';

/** The share of the cache that one route uses; `evicted` counts since the start. */
export type RouteShare = { bytes: number; entries: number; evicted: number };

/** The shares of the routes that have stored anything, by pattern. These are labels of metrics, so the routes beyond a limit share one. */
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

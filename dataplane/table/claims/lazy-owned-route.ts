import type { RouteSpec } from '../../../shared/route.ts';
import type { OwnedRoute } from '../table.ts';
import { type Claim, type Claims, isOverridden, isUnconfirmed, routeOf, visible } from './claims.ts';

const NONE: ReadonlySet<string> = new Set();

/** Parses the route when it is read, and does not keep it. */
export class LazyOwnedRoute implements OwnedRoute {
  private readonly claims: Claims;

  constructor(claims: Claims) {
    this.claims = claims;
  }

  get route(): RouteSpec {
    return routeOf(this.top);
  }

  get controller(): string | null {
    return this.top.controller;
  }

  get overrides(): RouteSpec | null {
    return isOverridden(this.claims) && this.claims.applied !== null ? routeOf(this.claims.applied) : null;
  }

  get since(): number {
    return this.top.since;
  }

  get unconfirmed(): boolean {
    return isUnconfirmed(this.top);
  }

  get lost(): ReadonlySet<string> {
    return this.top.lost ?? NONE;
  }

  get needsSetup(): boolean {
    return this.top.facts.needsSetup;
  }

  private get top(): Claim {
    const top = visible(this.claims);
    if (top === null) throw new Error('a listed domain has a claim');
    return top;
  }
}

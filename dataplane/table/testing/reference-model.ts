import type { RouteSpec } from '../../../shared/route.ts';
import type { Revision } from '../../../shared/wire/apply.ts';
import type { Frame } from '../table.ts';

type AppliedRoute = { readonly route: RouteSpec; readonly controller: string };
type Life = { readonly epoch: number; readonly revision: Revision; readonly sources: ReadonlySet<string>; readonly settled: boolean };

/** The ownership rules again, in the simplest possible form. */
export class ReferenceModel {
  readonly posted = new Map<string, RouteSpec>();
  readonly applied = new Map<string, AppliedRoute>();
  readonly lives = new Map<string, Life>();

  post(route: RouteSpec): void {
    const { domain, source } = route;
    const holder = this.applied.get(domain)?.controller;
    const owner = [...this.lives.keys()]
      .sort()
      .filter((id) => holder === undefined || id === holder)
      .find((id) => source !== null && this.lives.get(id)?.sources.has(source));
    if (owner === undefined) {
      this.posted.set(domain, route);
      return;
    }
    this.distrust(owner);
    this.posted.delete(domain);
    this.applied.set(domain, { route, controller: owner });
  }

  remove(domain: string): boolean {
    if (this.posted.delete(domain)) return true;
    this.distrust(this.applied.get(domain)?.controller);
    return this.applied.delete(domain);
  }

  /** @returns `DOMAIN RESULT` for each route and `DOMAIN removed`, sorted, or null if the frame is rejected. */
  apply({ header, routes, rejected, removes }: Frame): string[] | null {
    const { controller, epoch, revision, based_on, sources } = header;
    const life = this.lives.get(controller);
    if (life !== undefined && epoch < life.epoch) return null;
    const same = life !== undefined && epoch === life.epoch;
    if (same && Number(revision) < Number(life.revision)) return null;
    if (same && life.settled && revision === life.revision) return routes.map(({ domain }) => `${domain} unchanged`).sort();
    if (based_on !== null && (life === undefined || based_on !== life.revision || !life.settled)) return null;
    this.lives.set(controller, { epoch, revision, sources: new Set([...(life?.sources ?? []), ...sources]), settled: true });
    const outcomes = rejected.map(({ domain }) => `${domain} rejected`);
    const named = new Set(rejected.map(({ domain }) => domain));
    const taken = new Set<string>();
    for (const route of routes) {
      named.add(route.domain);
      outcomes.push(`${route.domain} ${this.applyRoute(route, controller, sources, taken)}`);
    }
    for (const domain of based_on === null ? [...this.applied.keys()] : new Set(removes.map((one) => one.domain))) {
      const applied = this.applied.get(domain);
      const asked = based_on === null ? sources : removes.filter((one) => one.domain === domain).map(({ source }) => source);
      if (named.has(domain) || applied?.controller !== controller || !asked.includes(applied.route.source ?? '')) continue;
      this.applied.delete(domain);
      outcomes.push(`${domain} removed`);
    }
    return outcomes.sort();
  }

  /** `DOMAIN UPSTREAM OWNER` of each served route, with the route it overrides, sorted. */
  visible(): string[] {
    return [...new Set([...this.posted.keys(), ...this.applied.keys()])].sort().map((domain) => {
      const hand = this.posted.get(domain);
      const applied = this.applied.get(domain);
      if (hand === undefined) return `${domain} ${applied?.route.upstream} ${applied?.controller}`;
      return `${domain} ${hand.upstream} hand${applied === undefined ? '' : ` over ${applied.route.upstream}`}`;
    });
  }

  private applyRoute(route: RouteSpec, controller: string, sources: readonly string[], taken: Set<string>): string {
    const { domain, source, upstream } = route;
    if (source === null || !sources.includes(source) || taken.has(domain)) return 'rejected';
    taken.add(domain);
    const held = this.applied.get(domain);
    if (held !== undefined && held.controller !== controller) return 'conflicted';
    this.applied.set(domain, { route, controller });
    if (held === undefined) return 'added';
    return held.route.upstream === upstream && held.route.source === source ? 'unchanged' : 'changed';
  }

  private distrust(controller: string | undefined): void {
    const life = controller === undefined ? undefined : this.lives.get(controller);
    if (controller !== undefined && life !== undefined) this.lives.set(controller, { ...life, settled: false });
  }
}

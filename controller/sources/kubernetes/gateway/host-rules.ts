import type { HttpMatch, HttpRoute, HttpRule } from '../objects/http-route.ts';
import { byAge } from '../objects/meta.ts';
import type { Attachment } from './attachments.ts';
import { compareMatches } from './conditions.ts';
import { coveringNames, type Hostname } from './hostnames.ts';
import type { BoundListener } from './listeners.ts';

/** A match of a rule of a route. */
export type RuleMatch = { readonly route: HttpRoute; readonly rule: HttpRule; readonly number: number; readonly match: HttpMatch };

/** The rules of a listener by the host name that they have there. */
type Rules = Map<Hostname, HttpRoute[]>;

/** Which rules apply to which hosts of which ports: those of the most specific listener, and of them the most specific first. */
export class HostRules {
  /** By port, then by host name. Gateways may share both. */
  private readonly listeners = new Map<number, Map<Hostname, BoundListener[]>>();
  private readonly rules = new Map<BoundListener, Rules>();

  constructor(listeners: readonly BoundListener[], attachments: readonly Attachment<HttpRoute>[]) {
    for (const bound of listeners) {
      if (!bound.isServed || bound.listener.protocol === 'TLS') continue;
      const { port, hostname } = bound.listener;
      const byName = this.listeners.get(port) ?? new Map<Hostname, BoundListener[]>();
      this.listeners.set(port, byName);
      byName.set(hostname, [...(byName.get(hostname) ?? []), bound]);
      this.rules.set(bound, new Map());
    }
    for (const { route, listeners: places } of attachments)
      for (const { bound, hosts } of places)
        for (const host of hosts) {
          const rules = this.rules.get(bound);
          const routes = rules?.get(host);
          // A route may name a listener twice.
          if (routes === undefined) rules?.set(host, [route]);
          else if (!routes.includes(route)) routes.push(route);
        }
  }

  /** Every host name that something is known of: of listeners, too, since a listener keeps its hosts from less specific ones. */
  names(): Hostname[] {
    const names = new Set<Hostname>();
    for (const byName of this.listeners.values()) for (const name of byName.keys()) names.add(name);
    for (const rules of this.rules.values()) for (const name of rules.keys()) names.add(name);
    return [...names];
  }

  get ports(): number[] {
    return [...this.listeners.keys()].sort((a, b) => a - b);
  }

  /** The listeners that have a host on a port. */
  listenersFor(name: Hostname, port: number): readonly BoundListener[] {
    const byName = this.listeners.get(port);
    for (const covering of byName ? coveringNames(name) : []) {
      const found = byName?.get(covering);
      if (found) return found;
    }
    return [];
  }

  /** The rules for a host on a port, in the order in which they are tried. */
  rulesFor(name: Hostname, port: number): RuleMatch[] {
    const listeners = this.listenersFor(name, port);
    const seen = new Set<HttpRoute>();
    return coveringNames(name).flatMap((covering) => {
      const routes = listeners.flatMap((bound) => this.rules.get(bound)?.get(covering) ?? []).filter((route) => !seen.has(route));
      for (const route of routes) seen.add(route);
      return [...new Set(routes)].flatMap(matchesOf).sort(bySpecificity);
    });
  }
}

const matchesOf = (route: HttpRoute): RuleMatch[] =>
  route.rules.flatMap((rule, index) => rule.matches.map((match) => ({ route, rule, number: index + 1, match })));

/** Ages and names decide between routes, the order of the rules within one. */
const bySpecificity = (a: RuleMatch, b: RuleMatch): number =>
  compareMatches(a.match, b.match) || (a.route === b.route ? a.number - b.number : byAge(a.route, b.route));

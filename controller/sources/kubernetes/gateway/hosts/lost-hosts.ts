import { nameOf } from '../../objects/meta.ts';
import type { BoundListener } from '../listeners.ts';
import { fails, type Verdict } from '../status/verdict.ts';
import type { GatewayHost } from './gateway-hosts.ts';
import { domainOf, type Hostname } from './hostnames.ts';

/** A host that a listener has and does not serve, because it belongs to others there. */
export type LostHost = { readonly bound: BoundListener; readonly name: Hostname; readonly why: string };

/** Those that require other client certificates than the owner of a host. */
export const lostByCertificates = (hosts: Iterable<GatewayHost>): LostHost[] =>
  [...hosts].flatMap(({ name, conflicting }) =>
    conflicting.map((bound) => {
      const { name: own, port } = bound.listener;
      const why = `${name ?? '*'}: its oldest route or object on port ${port} requires other client certificates, or none, so the listener ${own} does not serve it`;
      return { bound, name, why };
    }),
  );

/** The conflicts of listeners that have lost all of their hosts. `serving`: those that serve a host. */
export function conflictsOf(lost: readonly LostHost[], serving: ReadonlySet<BoundListener>): Map<BoundListener, Verdict> {
  const conflicts = new Map<BoundListener, Verdict>();
  for (const { bound, why } of lost) if (!serving.has(bound) && !conflicts.has(bound)) conflicts.set(bound, fails('HostnameConflict', why));
  return conflicts;
}

/** What is shared with other listeners, as far as the status of a listener has to say it. */
export type SharedHosts = {
  /** The listeners that serve none of their hosts, because others have them. */
  readonly conflicts: ReadonlyMap<BoundListener, Verdict>;
  /** The listeners with a setting for TLS that does not apply to some of their hosts, or may not for some connections, and why. */
  readonly overlaps: ReadonlyMap<BoundListener, string>;
};

/** Why the certificate of a listener is not presented for a host. */
export function whyUnpresented({ name, presenting }: GatewayHost, { listener }: BoundListener): string {
  const host = domainOf(name);
  const own = `that of the listener ${listener.name} on port ${listener.port}`;
  if (presenting === null) return `${host} belongs to an older object, whose certificate is presented on every port instead of ${own}`;
  const { listener: other, owner } = presenting;
  return `${host} has one certificate on every port: that of the listener ${other.name} of ${nameOf(owner.meta)} is presented instead of ${own}`;
}

export function unpresentedAt(hosts: Iterable<GatewayHost>): Map<BoundListener, string> {
  const found = new Map<BoundListener, { readonly why: string; more: number }>();
  for (const host of hosts)
    for (const bound of host.unpresented) {
      const known = found.get(bound);
      if (known === undefined) found.set(bound, { why: whyUnpresented(host, bound), more: 0 });
      else known.more++;
    }
  return new Map([...found].map(([bound, { why, more }]) => [bound, more === 0 ? why : `${why}; so have ${more} more hosts`]));
}

/** A listener as its status shows it. */
export function withConflict(bound: BoundListener, conflicts: ReadonlyMap<BoundListener, Verdict>): BoundListener {
  const conflict = conflicts.get(bound);
  return conflict === undefined ? bound : { ...bound, isServed: false, accepted: conflict, conflict };
}

import type { BoundListener } from '../listeners.ts';
import { fails, type Verdict } from '../status/verdict.ts';
import type { GatewayHost } from './gateway-hosts.ts';
import type { Hostname } from './hostnames.ts';

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

/** A listener as its status shows it. */
export function withConflict(bound: BoundListener, conflicts: ReadonlyMap<BoundListener, Verdict>): BoundListener {
  const conflict = conflicts.get(bound);
  return conflict === undefined ? bound : { ...bound, isServed: false, accepted: conflict, conflict };
}

import type { Gateway } from '../objects/gateway.ts';
import type { AnyRoute, ParentRef } from '../objects/http-route.ts';
import type { Namespace } from '../objects/namespace.ts';
import { GATEWAY_GROUP } from '../objects/object-ref.ts';
import { type Hostname, intersect } from './hosts/hostnames.ts';
import { allowsNamespace, type BoundListener } from './listeners.ts';
import { fails, holds, type Verdict } from './status/verdict.ts';

/** A route at one of its parents. */
export type Attachment<Route extends AnyRoute = AnyRoute> = {
  readonly route: Route;
  readonly parent: ParentRef;
  readonly gateway: Gateway;
  readonly accepted: Verdict;
  /** The listeners to which it is attached, each with the hosts that it has there. Empty if it is not accepted. */
  readonly listeners: readonly { readonly bound: BoundListener; readonly hosts: readonly Hostname[] }[];
};

/** The listeners of the Gateways and ListenerSets that are ours, by `KIND NAMESPACE/NAME`. */
export type Parents = ReadonlyMap<string, { readonly gateway: Gateway; readonly listeners: readonly BoundListener[] }>;

export const parentKey = (kind: string, namespace: string, name: string): string => `${kind} ${namespace}/${name}`;

/** Attaches a route to those of its parents that are ours. */
export function attach<Route extends AnyRoute>(
  route: Route,
  parents: Parents,
  namespaces: ReadonlyMap<string, Namespace>,
): Attachment<Route>[] {
  return route.parents.flatMap((parent) => {
    const { ref } = parent;
    if (ref.group !== GATEWAY_GROUP) return [];
    const found = parents.get(parentKey(ref.kind, ref.namespace ?? route.meta.namespace, ref.name));
    if (found === undefined) return [];
    return [{ route, parent, gateway: found.gateway, ...attachTo(route, parent, found.listeners, namespaces) }];
  });
}

function attachTo(
  route: AnyRoute,
  { section, port }: ParentRef,
  all: readonly BoundListener[],
  namespaces: ReadonlyMap<string, Namespace>,
): Pick<Attachment, 'accepted' | 'listeners'> {
  const none = (reason: string, message: string) => ({ accepted: fails(reason, message), listeners: [] });
  const named = all.filter(({ listener }) => (section === null || listener.name === section) && (port === null || listener.port === port));
  if (named.length === 0) {
    const wanted = [section === null ? '' : ` of the name ${section}`, port === null ? '' : ` on port ${port}`].join('');
    return none('NoMatchingParent', `there is no listener${wanted}`);
  }
  const allowing = named.filter(
    ({ listener, owner, kinds }) =>
      kinds.includes(route.kind) && allowsNamespace(listener.namespaces, owner.meta.namespace, route.meta.namespace, namespaces),
  );
  if (allowing.length === 0)
    return none('NotAllowedByListeners', `no listener allows a ${route.kind} of the namespace ${route.meta.namespace}`);
  const listeners = allowing.flatMap((bound) => {
    const hosts = hostsOf(bound.listener.hostname, route.hostnames);
    return hosts.length === 0 ? [] : [{ bound, hosts }];
  });
  if (listeners.length === 0) return none('NoMatchingListenerHostname', `no listener has any of the hosts ${route.hostnames.join(', ')}`);
  return { accepted: holds('Accepted'), listeners };
}

function hostsOf(listener: Hostname, names: readonly string[]): Hostname[] {
  const wanted: readonly Hostname[] = names.length === 0 ? [null] : names;
  const hosts = wanted.flatMap((name) => {
    const both = intersect(listener, name);
    return both === undefined ? [] : [both];
  });
  return [...new Set(hosts)];
}

import { isOlder } from '../../objects/meta.ts';
import type { BoundListener } from '../listeners.ts';
import { type HostOwner, type IsOwn, isLate, ownListeners } from './host-owners.ts';
import type { HostPlace, HostRules, IsPassing } from './host-rules.ts';
import type { Hostname } from './hostnames.ts';

/** A place of a host, those listeners that decide there, and which of these belong to the owner of the host there. */
export type OwnedPlace = HostPlace & {
  /** Others than its listeners if these are younger than the other objects of the host. */
  readonly before: readonly BoundListener[];
  /** Whether the rule for the places of other objects may apply there. */
  readonly isUsual: boolean;
  readonly isOwn: IsOwn;
};

export function ownedPlace(one: HostPlace, name: Hostname, owner: HostOwner, rules: HostRules, isPassing: IsPassing): OwnedPlace {
  const { place, listeners, list } = one;
  const isTaken =
    listeners.every((bound) => isLate(owner, bound.owner)) &&
    list.every(({ rank, route, isRefused }) => rank > 0 || isRefused || isLate(owner, route));
  const before = isTaken ? rules.otherwiseAt(place, name, isPassing, (bound) => !isLate(owner, bound.owner)) : listeners;
  const deciding = isTaken ? { place, listeners: before, list: rules.rulesFor(name, before) } : one;
  // Those who named the host there before it was shared have no rule of others, unless its owner shares it.
  const isUsual = owner.isOfOther || owner.hasOthers || !isNamedBefore(owner, name, one);
  return { ...one, before, isUsual, isOwn: ownersAt(deciding, name, owner, rules) };
}

/** Whether a listener of a place, or a route that is accepted there, named a host before any object of another kind did. */
function isNamedBefore({ other }: HostOwner, name: Hostname, { listeners, list }: HostPlace): boolean {
  if (other === undefined) return true;
  return (
    listeners.some(({ listener, owner }) => listener.hostname === name && isOlder(owner, other)) ||
    list.some(({ rank, route, isRefused }) => rank === 0 && !isRefused && isOlder(route, other))
  );
}

/** The listeners at a place of the owner of the host there; those of the oldest Gateway if no route there is accepted. */
function ownersAt(at: HostPlace, name: Hostname, { other, isOfOther, isRequiring, ...owner }: HostOwner, rules: HostRules): IsOwn {
  if (isOfOther) return isRequiring;
  const { listeners, list } = at;
  // Paths of other objects are served at each place, also where other namespaces have listeners for what is over the host.
  const isOfNone = (bound: BoundListener) => bound.listener.hostname !== name && bound.owner.meta.namespace !== other?.meta.namespace;
  const isUnnamed = other !== undefined && listeners.every(isOfNone) && list.every(({ rank }) => rank > 0);
  if ((owner.hasOthers || isUnnamed) && !listeners.some(owner.isBeside)) return owner.isOwn;
  const [oldest] = listeners;
  return list.every(({ isRefused }) => isRefused) ? (bound) => bound.gateway === oldest?.gateway : ownListeners(name, rules, [at]);
}

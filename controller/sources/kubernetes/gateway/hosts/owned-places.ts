import { isOlder } from '../../objects/meta.ts';
import type { BoundListener } from '../listeners.ts';
import { type HostOwner, type IsOwn, isLate, ownListeners } from './host-owners.ts';
import type { HostPlace, HostRules, IsPassing, RuleMatch } from './host-rules.ts';
import type { Hostname } from './hostnames.ts';

/** A place of a host, those listeners that decide there, and which of these belong to the owner of the host there. */
export type OwnedPlace = HostPlace & {
  /** Others than its listeners if some of these are younger than the other objects of the host. */
  readonly before: readonly BoundListener[];
  /** Whether the rule for the places of other objects may apply there. */
  readonly isUsual: boolean;
  readonly isOwn: IsOwn;
};

export function ownedPlace(one: HostPlace, name: Hostname, owner: HostOwner, rules: HostRules, isPassing: IsPassing): OwnedPlace {
  const { place, listeners, list } = one;
  // A route of others makes a listener count.
  // Those who only named the host in a route of theirs before require nothing of the clients of other objects by a late listener.
  const isLateListener = (bound: BoundListener): boolean => {
    const judged = bound.clientAuthorities === null ? owner : { other: owner.other, namespaces: owner.owning };
    return isLate(judged, bound.owner) && rules.namingAt(bound, name).every((route) => isLate(judged, route));
  };
  const isTaken = listeners.some(isLateListener);
  const before = isTaken ? rules.otherwiseAt(place, name, isPassing, (bound) => !isLateListener(bound)) : listeners;
  // Nor does a late route that is attached to one of several listeners of the owner, of which another decided.
  const rulesBefore = isTaken ? rules.rulesFor(name, before) : list;
  // Nor one of the other objects' namespace, which has no say about listeners that named the host before.
  const { other } = owner;
  const isNamedByOlder =
    other !== undefined && before.some(({ listener, owner: { meta } }) => listener.hostname === name && isOlder({ meta }, other));
  const isEarly = ({ route }: RuleMatch): boolean =>
    other === undefined ||
    !isOlder(other, route) ||
    (owner.isOfOther || !isNamedByOlder ? !isLate(owner, route) : owner.namespaces.has(route.meta.namespace));
  const early = other === undefined ? rulesBefore : rulesBefore.filter(isEarly);
  // Those who named the host there before it was shared have no rule of others, unless its owner shares it.
  const isUsual = owner.isOfOther || owner.hasOthers || !isNamedBefore(owner, name, listeners, list);
  return { ...one, before, isUsual, isOwn: ownersAt({ place, listeners: before, list: early }, name, owner, rules) };
}

/** Whether one of the listeners of a place, or a route that is accepted there, named a host before any object of another kind did. */
export function isNamedBefore(
  { other }: HostOwner,
  name: Hostname,
  listeners: readonly BoundListener[],
  list: readonly RuleMatch[],
): boolean {
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

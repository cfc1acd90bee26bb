import { MAX_BLOCKS } from '../../../../../shared/limits.ts';
import { DEFAULT_HTTP_PORT, DEFAULT_HTTPS_PORT } from '../../../../../shared/settings.ts';
import { MAX_LINE_BYTES } from '../../../../../shared/wire/apply.ts';
import type { HttpMatch, HttpRoute } from '../../objects/http-route.ts';
import { byAge, isOlder, isOlderForeign } from '../../objects/meta.ts';
import type { HostBlock } from '../../routes/host-block.ts';
import type { BoundListener } from '../listeners.ts';
import { mapPort, type PortMap } from '../port-map.ts';
import { knownBlocksOfRule, textOf } from '../rules/known-blocks.ts';
import type { RouteBackends } from '../rules/route-backends.ts';
import type { RuleBlock } from '../rules/rule-blocks.ts';
import { type ClientRules, clientRules, requiredBy } from './client-rules.ts';
import {
  besideOwn,
  type IsOwn,
  isNamedBefore,
  isOlderThanAll,
  lateBeside,
  listenersOf,
  listenersOfRoute,
  namespaceOf,
  namingListenersOf,
  type OtherOwner,
  oldestMatch,
  ownersAt,
  ownListeners,
} from './host-owners.ts';
import { compareRules, type HostRules, type ListenAddress, type RuleMatch } from './host-rules.ts';
import type { Hostname } from './hostnames.ts';
import { namedAmong } from './named-places.ts';
import { type PlaceCondition, placeConditions } from './place-conditions.ts';
import { isCertifiedFor, presentingAmong, usualOf } from './presenting.ts';

/** The room for the blocks of Gateways in the route of a host. The other half is for Ingresses and Services. */
const MAX_GATEWAY_BLOCKS = MAX_BLOCKS / 2;
/** Bytes, with all defaults left out. */
const MAX_GATEWAY_SIZE = 0.35 * MAX_LINE_BYTES;

/** How Gateways serve a host. */
export type GatewayHost = {
  readonly name: Hostname;
  /** The ports of the data plane that it is served on. */
  readonly ports: readonly number[];
  readonly blocks: readonly HostBlock[];
  /** The routes for which the host has no room. */
  readonly refused: readonly HttpRoute[];
  /** Whether it belongs to another object than a Gateway or one of its routes, because that is older. */
  readonly isOfOther: boolean;
  /** The listener with a host whose certificate is presented for it at all places; one of its owner's if these have any. */
  readonly presenting: BoundListener | null;
  /** Whether that is one of its owner's listeners, or these are for every host and present their default certificates. */
  readonly isOwnSecret: boolean;
  /** In the latter case, the Secrets of the usual one. */
  readonly ownDefaults: readonly string[];
  /** The listeners whose own Secrets are therefore not presented. */
  readonly unpresented: readonly BoundListener[];
  readonly clientRules: ClientRules;
  /** The listeners that serve it, or what is over it where nothing names it, first those of the route that has it. */
  readonly listeners: readonly BoundListener[];
  /** Those that don't serve it at some place, because they require other client certificates than its owner there. */
  readonly conflicting: readonly BoundListener[];
};

/** A place where a host is served, of which namespaces its listeners there are, and which of its matches are served, with their ranks there. */
type ServedPlace = ListenAddress & {
  readonly scheme: 'http' | 'https';
  readonly namespaces: readonly string[];
  readonly matches: ReadonlyMap<HttpMatch, number>;
};

/** All places of a host, and whether objects of other kinds have paths of it. */
type Places = { readonly places: readonly ServedPlace[]; readonly isShared: boolean };

/** Which objects of other kinds have paths of a host, accepted or not: any, or any of a wildcard over it or of every host. */
export type SharedNames = {
  readonly isShared: boolean;
  readonly isBelowShared: boolean;
  /** Those that pass connections on and have lost the host to an older object that ends TLS. */
  readonly lostBy: ReadonlySet<BoundListener>;
};

/**
 * Builds the blocks of a host from the rules of its listeners; null if it has none. Blocks that differ by place are for some places only.
 * `other`: the oldest object of another kind that names the host.
 */
export function gatewayHost(
  name: Hostname,
  rules: HostRules,
  map: PortMap,
  backends: RouteBackends,
  other: OtherOwner | undefined,
  { isShared, isBelowShared, lostBy }: SharedNames,
): GatewayHost | null {
  // The other objects have the connections of exactly this host everywhere, unless a listener for it passes them on.
  const isPassing = (bound: BoundListener): boolean => bound.listener.hostname === name && !lostBy.has(bound);
  const found = rules.placesOf(name, isShared ? isPassing : null).map((place) => ({ place, list: rules.rulesFor(name, place.listeners) }));
  const named = isBelowShared && !isShared ? namedAmong(name, found, rules, map) : found;
  if (named.length === 0) return null;
  const [all, allLists] = [named.map(({ place }) => place), named.map(({ list }) => list)];
  // At all of them it has the same certificate, also where what is over it is served.
  const [covered, coveredLists] = [found.map(({ place }) => place), found.map(({ list }) => list)];
  const isOfOther = other !== undefined && isOlderThanAll(other.meta, name, all, allLists);
  const isOwn = isOfOther ? listenersOf(other.meta, name, rules, allLists) : ownListeners(name, rules, covered, coveredLists);
  const isBeside = isOfOther ? isOwn : besideOwn(covered, isOwn);
  // Of the owner of an older object, only listeners and routes that name the host: otherwise others could turn that on by naming it.
  const isRequiring = isOfOther ? namingListenersOf(other.meta, name, rules, allLists) : isOwn;
  // Listeners of others that are more specific turn nothing off, nor do routes of others at one of the owner's listeners.
  const routeNamespace = oldestMatch(coveredLists)?.route.meta.namespace;
  const isOwnRoute = covered.some(({ listeners }) => listeners.some((one) => isOwn(one) && namespaceOf(one) === routeNamespace));
  const isDeciding = isOfOther ? isRequiring : isOwnRoute ? isOwn : isBeside;
  const usual = isShared ? requiredBy(rules.requiringOf(name, isPassing).filter(isDeciding)) : undefined;
  // The owner's namespace may have objects of other kinds although the oldest one is of another namespace.
  const owners = new Set(isOfOther ? [other.meta.namespace] : all.flatMap(({ listeners }) => listeners.filter(isOwn).map(namespaceOf)));
  const ofOwner = [...owners].flatMap((namespace) => other?.https.get(namespace) ?? []);
  const isOfOwner = ofOwner.length > 0;
  const ownersOf = (at: readonly BoundListener[], place: ListenAddress, list: readonly RuleMatch[]): IsOwn => {
    if (isOfOther) return isRequiring;
    // Paths of other objects are served at each place, also where other namespaces have listeners for what is over the host.
    const isOfNone = ({ listener, owner }: BoundListener) => listener.hostname !== name && owner.meta.namespace !== other?.meta.namespace;
    const isUnnamed = other !== undefined && at.every(isOfNone) && list.every(({ rank }) => rank > 0);
    return (isOfOwner || isUnnamed) && !at.some(isBeside) ? isOwn : ownersAt({ place, listeners: at }, name, rules, list);
  };
  const isLate = lateBeside(isOfOther ? undefined : other, owners);
  const owned = all.map(({ place, listeners: at }, index) => {
    const list = allLists[index] ?? [];
    const isTaken = at.every(({ owner }) => isLate(owner)) && list.every((one) => one.rank > 0 || one.isRefused || isLate(one.route));
    const before = isTaken ? rules.otherwiseAt(place, name, isPassing, ({ owner }) => !isLate(owner)) : at;
    const isOwnHere = ownersOf(before, place, isTaken ? rules.rulesFor(name, before) : list);
    // Those who named the host there before it was shared have no rule of others, unless its owner shares it.
    const isUsual = isOfOther || isOfOwner || !isNamedBefore(other, name, at, list);
    return { place, listeners: at, before, isUsual, isOwn: isOwnHere };
  });
  // What is not accepted serves nothing, so nothing has to be protected at the other places of the owner, such as one with a redirect.
  const { found: served, conflicting, rules: clients } = clientRules(owned, usual, isBeside, map);
  const lists = conflicting.length === 0 ? allLists : served.map(({ listeners }) => rules.rulesFor(name, listeners));
  const places = served.map(
    ({ place, listeners }, index): ServedPlace => ({
      ...place,
      scheme: listeners[0]?.listener.protocol === 'HTTP' ? 'http' : 'https',
      namespaces: isShared ? [...new Set(listeners.map(({ owner }) => owner.meta.namespace))] : [],
      matches: matchesIn(lists[index] ?? []),
    }),
  );
  const { blocks, refused } = knownBlocks(lists, { places, isShared }, map, backends);
  const over = covered.filter((place) => !all.includes(place));
  const listeners = [...new Set([...served, ...over].flatMap((one) => one.listeners))].sort((a, b) => Number(isOwn(b)) - Number(isOwn(a)));
  const oldest = oldestMatch(coveredLists);
  // The owner may have listeners for HTTP only: the oldest route then comes before those who only have a listener for the host.
  const candidates = [isOwn, isBeside, ...(oldest === undefined || isOfOwner ? [] : [listenersOfRoute(name, rules, oldest)])];
  const groups = candidates.map((isOne) => listeners.filter(isOne));
  // One for every host presents its certificate at its own port only, so that of a listener for the host comes first.
  const isNamed = (bound: BoundListener): boolean => bound.listener.hostname === name && isCertifiedFor(bound, name);
  const certified = groups.slice(0, 2).find((some) => some.some(isNamed));
  const own = certified ?? groups.find((some) => some.some(({ secrets }) => secrets.length > 0));
  const isOwnSecret = own !== undefined;
  const usualOfAll = presentingAmong(name, own ?? listeners);
  const isBesideOther =
    usualOfAll !== null &&
    other !== undefined &&
    other.meta.namespace !== usualOfAll.owner.meta.namespace &&
    (isOfOther || isOlder(other, usualOfAll.owner));
  const isCertified = isBesideOther && rules.certifying(name, usualOfAll).some(({ owner }) => isOlderForeign(owner, usualOfAll.owner));
  const isLeft = !isOwnSecret && (ofOwner.includes(true) || isCertified);
  const presenting = isLeft ? null : usualOfAll;
  // Where the owner's listeners are for every host, they present their default certificates.
  const isHidden = (bound: BoundListener): boolean =>
    presenting === null
      ? isLeft || (own !== undefined && bound.listener.hostname !== null && !own.includes(bound))
      : !bound.secrets.some((secret) => presenting.secrets.includes(secret));
  return {
    ...{ name, blocks, refused, isOfOther, listeners, conflicting, isOwnSecret },
    ownDefaults: presenting === null ? (usualOf(own?.filter(({ secrets }) => secrets.length > 0) ?? [])?.secrets ?? []) : [],
    clientRules: clients,
    ports: [...new Set(places.map(({ port }) => mapPort(map, port)))],
    presenting,
    unpresented: listeners.filter((bound) => bound.secrets.length > 0 && isHidden(bound)),
  };
}

/**
 * Merges several ordered lists of matches into one order that is consistent with each of them. A route for a wildcard may be attached to a
 * listener for exactly the host at one place, and to one for the wildcard at another: its matches have a rank for each, and are there twice.
 */
function inOrder(lists: readonly (readonly RuleMatch[])[]): readonly RuleMatch[] {
  const [first = [], ...others] = lists;
  const isSame = (a: RuleMatch, b: RuleMatch | undefined): boolean => a.match === b?.match && a.rank === b.rank;
  if (others.every((list) => list === first || (list.length === first.length && list.every((one, at) => isSame(one, first[at])))))
    return first;
  const all = new Map<number, Map<HttpMatch, RuleMatch>>();
  for (const one of lists.flat()) {
    const ofRank = all.get(one.rank) ?? new Map<HttpMatch, RuleMatch>();
    if (!ofRank.has(one.match)) all.set(one.rank, ofRank.set(one.match, one));
  }
  return [...all.values()].flatMap((ofRank) => [...ofRank.values()]).sort(compareRules);
}

type Blocks = { readonly blocks: readonly HostBlock[]; readonly refused: readonly HttpRoute[] };
/** Those of a snapshot, by the first list, which all hosts may have, and then by all lists and places: the hosts of a route have the same. */
const known = new WeakMap<readonly RuleMatch[], { readonly round: symbol; readonly found: Map<string, Blocks> }>();
const numbers = new WeakMap<readonly RuleMatch[], number>();
let lastNumber = 0;

function numberOf(list: readonly RuleMatch[]): number {
  const number = numbers.get(list) ?? ++lastNumber;
  numbers.set(list, number);
  return number;
}

function knownBlocks(lists: readonly (readonly RuleMatch[])[], all: Places, map: PortMap, backends: RouteBackends): Blocks {
  const [first] = lists;
  if (first === undefined) return { blocks: [], refused: [] };
  const before = known.get(first);
  const found = before?.round === backends.round ? before.found : new Map<string, Blocks>();
  const places = all.places.map(({ address, port, scheme, namespaces }) => [address, port, scheme, namespaces]);
  const key = JSON.stringify([lists.map(numberOf), all.isShared, places]);
  const same = found.get(key);
  if (same !== undefined) return same;
  const made = fittingBlocks(inOrder(lists), (one) => blocksOf(one, all, map, backends));
  known.set(first, { round: backends.round, found: found.set(key, made) });
  return made;
}

/** Routes of different namespaces share hosts: the oldest that are accepted get room first, each as a whole. */
function fittingBlocks(order: readonly RuleMatch[], blocksOf: (one: RuleMatch) => HostBlock[]) {
  const fitting = new Map<RuleMatch, HostBlock[]>();
  const refused: HttpRoute[] = [];
  let [count, size] = [0, 0];
  const rankOf = ([one]: readonly RuleMatch[]): number => Number(one?.isRefused);
  const routes = [...Map.groupBy(order, (one) => one.route)].sort(([a, one], [b, other]) => rankOf(one) - rankOf(other) || byAge(a, b));
  for (const [route, matches] of routes) {
    const own: (readonly [RuleMatch, HostBlock[]])[] = [];
    let [withOwn, sizeWithOwn] = [count, size];
    for (const one of matches) {
      const blocks = blocksOf(one);
      withOwn += blocks.length;
      sizeWithOwn += blocks.reduce((sum, { handle }) => sum + sizeOf(handle), 0);
      if (withOwn > MAX_GATEWAY_BLOCKS || sizeWithOwn > MAX_GATEWAY_SIZE) break;
      own.push([one, blocks]);
    }
    if (own.length < matches.length) {
      refused.push(route);
      continue;
    }
    for (const [one, blocks] of own) fitting.set(one, blocks);
    [count, size] = [withOwn, sizeWithOwn];
  }
  return { blocks: order.flatMap((one) => fitting.get(one) ?? []), refused };
}

function blocksOf(
  { route, rule, number, match, rank, isRefused }: RuleMatch,
  all: Places,
  map: PortMap,
  backends: RouteBackends,
): HostBlock[] {
  const variants = new Map<string, { readonly blocks: readonly RuleBlock[]; readonly places: ServedPlace[] }>();
  for (const place of all.places) {
    if (place.matches.get(match) !== rank) continue;
    const { blocks } = knownBlocksOfRule(route, rule, number, match, place, backends);
    const text = textOf(blocks);
    const variant = variants.get(text);
    if (variant) variant.places.push(place);
    else variants.set(text, { blocks, places: [place] });
  }
  return [...variants.values()].flatMap((variant) =>
    conditionsOf(match, variant.places, all, map).flatMap((condition) =>
      variant.blocks.map(
        (handle): HostBlock => ({
          ...{ rank, match, isRefused, meta: route.meta },
          handle: condition === null ? handle : withCondition(handle, condition),
        }),
      ),
    ),
  );
}

const matches = new WeakMap<readonly RuleMatch[], ReadonlyMap<HttpMatch, number>>();

function matchesIn(list: readonly RuleMatch[]): ReadonlyMap<HttpMatch, number> {
  const known = matches.get(list) ?? new Map(list.map(({ match, rank }) => [match, rank]));
  matches.set(list, known);
  return known;
}

const sizes = new WeakMap<RuleBlock, number>();

function sizeOf(handle: RuleBlock): number {
  const known = sizes.get(handle) ?? Buffer.byteLength(JSON.stringify(handle));
  sizes.set(handle, known);
  return known;
}

const conditioned = new WeakMap<RuleBlock, Map<string, RuleBlock>>();
const MAX_CONDITIONED = 100;

/** The same object each time. */
function withCondition(handle: RuleBlock, condition: PlaceCondition): RuleBlock {
  const key = JSON.stringify(condition);
  const known = conditioned.get(handle) ?? new Map<string, RuleBlock>();
  const before = known.get(key);
  if (before !== undefined) return before;
  const made = { ...handle, match: { ...handle.match, ...condition } };
  if (known.size >= MAX_CONDITIONED) known.clear();
  conditioned.set(handle, known.set(key, made));
  return made;
}

/** The conditions that together select some of the places of a match; null selects all of them. */
function conditionsOf(
  match: HttpMatch,
  some: readonly ServedPlace[],
  { places, isShared }: Places,
  map: PortMap,
): (PlaceCondition | null)[] {
  const isAt = (one: ListenAddress, port: number): boolean => mapPort(map, one.port) === mapPort(map, port);
  const usual = isShared ? some.filter((one) => isAt(one, DEFAULT_HTTP_PORT)) : [];
  // The paths of objects of other kinds are served on every port, to which routes for other ports, such as an internal one, must not follow.
  // Those on the usual port do, because the host may be redirected to HTTPS as its other object says.
  const isEverywhere = some.length === places.length && places.every(({ address }) => address === null);
  if (isEverywhere && (!isShared || usual.length > 0)) return [null];
  // Also if others have listeners for the host elsewhere, or for HTTPS. Where its own Gateways have one for HTTPS, that says what is served.
  const isSecured = (one: ServedPlace): boolean =>
    places.some(
      (other) =>
        isAt(other, DEFAULT_HTTPS_PORT) &&
        other.address === one.address &&
        (other.matches.has(match) || one.namespaces.some((name) => other.namespaces.includes(name))),
    );
  const secure = usual.filter((one) => !isSecured(one)).map(({ address }) => ({ address, port: DEFAULT_HTTPS_PORT }));
  return placeConditions([...some, ...secure], map);
}

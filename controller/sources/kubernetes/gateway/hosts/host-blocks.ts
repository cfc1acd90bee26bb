import { MAX_BLOCKS } from '../../../../../shared/limits.ts';
import { DEFAULT_HTTP_PORT, DEFAULT_HTTPS_PORT } from '../../../../../shared/settings.ts';
import { MAX_LINE_BYTES } from '../../../../../shared/wire/apply.ts';
import type { HttpMatch, HttpRoute } from '../../objects/http-route.ts';
import { byAge } from '../../objects/meta.ts';
import { mapPort, type PortMap } from '../port-map.ts';
import { knownBlocksOfRule, textOf } from '../rules/known-blocks.ts';
import type { RouteBackends } from '../rules/route-backends.ts';
import type { RuleBlock } from '../rules/rule-blocks.ts';
import type { HostBlock } from './host-block.ts';
import { compareRules, type ListenAddress, type RuleMatch } from './host-rules.ts';
import { type PlaceCondition, placeConditions } from './place-conditions.ts';

/** The room for the blocks of Gateways in the route of a host. The other half is for Ingresses and Services. */
const MAX_GATEWAY_BLOCKS = MAX_BLOCKS / 2;
/** Bytes, with all defaults left out. */
const MAX_GATEWAY_SIZE = 0.35 * MAX_LINE_BYTES;

/** A place where a host is served by these rules. */
export type ServedPlace = ListenAddress & {
  readonly scheme: 'http' | 'https';
  /** Of its listeners there, and of those that late ones have taken it from; none if the host is not shared. */
  readonly namespaces: readonly string[];
  /** Of its listeners that serve it there; none if the host is not shared. */
  readonly serving: readonly string[];
  /** Of the listeners there that each of its routes is attached to; none if the host is not shared. */
  readonly attached: ReadonlyMap<HttpRoute, readonly string[]>;
  /** Whether a route had the host there before it was shared. */
  readonly isBefore: boolean;
  readonly list: readonly RuleMatch[];
};

/** All places of a host, and whether objects of other kinds have paths of it. */
type Places = { readonly places: readonly ServedPlace[]; readonly isShared: boolean };

/** `refused`: the routes for which the host has no room. */
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

/** The blocks of a host from its rules at each of its places. Blocks that differ by place are for some places only. */
export function blocksOfHost(all: Places, map: PortMap, backends: RouteBackends): Blocks {
  const lists = all.places.map(({ list }) => list);
  const [first] = lists;
  if (first === undefined) return { blocks: [], refused: [] };
  const before = known.get(first);
  const found = before?.round === backends.round ? before.found : new Map<string, Blocks>();
  const places = all.places.map(({ attached, list: _, ...one }) => [one, [...attached.values()]]);
  const key = JSON.stringify([lists.map(numberOf), all.isShared, places]);
  const same = found.get(key);
  if (same !== undefined) return same;
  const made = fittingBlocks(inOrder(lists), (one) => blocksOf(one, all, map, backends));
  known.set(first, { round: backends.round, found: found.set(key, made) });
  return made;
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
    if (ranksIn(place.list).get(match) !== rank) continue;
    const { blocks } = knownBlocksOfRule(route, rule, number, match, place, backends);
    const text = textOf(blocks);
    const variant = variants.get(text);
    if (variant) variant.places.push(place);
    else variants.set(text, { blocks, places: [place] });
  }
  return [...variants.values()].flatMap((variant) =>
    conditionsOf(route, match, variant, all, map).flatMap((condition) =>
      variant.blocks.map(
        (handle): HostBlock => ({
          ...{ rank, match, isRefused, meta: route.meta },
          handle: condition === null ? handle : withCondition(handle, condition),
        }),
      ),
    ),
  );
}

const ranks = new WeakMap<readonly RuleMatch[], ReadonlyMap<HttpMatch, number>>();

/** The ranks of the matches in a list: the same object each time. */
function ranksIn(list: readonly RuleMatch[]): ReadonlyMap<HttpMatch, number> {
  const known = ranks.get(list) ?? new Map(list.map(({ match, rank }) => [match, rank]));
  ranks.set(list, known);
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
  route: HttpRoute,
  match: HttpMatch,
  { blocks, places: some }: { readonly blocks: readonly RuleBlock[]; readonly places: readonly ServedPlace[] },
  { places, isShared }: Places,
  map: PortMap,
): (PlaceCondition | null)[] {
  const isAt = (one: ListenAddress, port: number): boolean => mapPort(map, one.port) === mapPort(map, port);
  // A redirect to HTTPS must not follow to where it leads.
  const isSecuring = blocks.some(({ redirects }) => redirects?.some(({ to }) => to.startsWith('https://{host}')));
  const usual = isShared && !isSecuring ? some.filter((one) => isAt(one, DEFAULT_HTTP_PORT)) : [];
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
        (ranksIn(other.list).has(match) ||
          other.isBefore ||
          one.serving.some((name) => other.serving.includes(name)) ||
          one.attached.get(route)?.some((name) => other.namespaces.includes(name))),
    );
  const secure = usual.filter((one) => !isSecured(one)).map(({ address }) => ({ address, port: DEFAULT_HTTPS_PORT }));
  return placeConditions([...some, ...secure], map);
}

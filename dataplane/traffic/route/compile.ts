import { ownPool, type PoolSpec } from '../../../shared/pools.ts';
import type { HandleSpec, HeaderSpec, RouteSpec } from '../../../shared/route.ts';
import { type Key, keyOf } from '../../ledger/hash.ts';
import { type AnswerFields, compileAnswerFields } from '../exchange/answer-fields.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { compileCondition, type Test } from '../match/condition.ts';
import { compilePattern, foldsPaths, type Pattern } from '../match/pattern.ts';
import { type ClientAuth, compileClientAuth } from '../policy/client-certificate/client-auth.ts';
import { type Policy, policiesOf } from '../policy/order.ts';
import type { Pool, Pools } from '../upstream/pool.ts';
import { type Ambiguity, compileAmbiguity } from './ambiguity.ts';
import { compileVariants, unconditional, type Variants } from './variants.ts';

/** A route as the request path uses it: everything that depends on the route alone is worked out. */
export type CompiledRoute = {
  readonly domain: string;
  readonly https: RouteSpec['https'];
  /** Names what visitors have to show before they are served: equal only for equal rules. Empty for nothing. */
  readonly clientRule: string;
  /** The same, for handshakes. */
  readonly clientAuth: ClientAuth | null;
  /** What answers when no block matches; null when nothing stands outside the blocks. */
  readonly site: CompiledBlock | null;
  readonly blocks: readonly CompiledBlock[];
  /** Default and own response headers, for answers that come from no block. */
  readonly fields: AnswerFields;
  /** Where something of the site is for some paths and not for others: then a path has to mean the same to everybody. */
  readonly ambiguity: Ambiguity | null;
};

/** A path block with the site's directives already worked in. */
export type CompiledBlock = {
  /** Its place among the blocks, -1 for the site itself. */
  readonly index: number;
  /** null matches every path. */
  readonly pattern: Pattern | null;
  /** What else a request must be like; null asks nothing more. */
  readonly condition: { readonly name: string; readonly matches: Test } | null;
  /** What handle_path takes off the path before the upstream sees it; empty for none. */
  readonly strip: string;
  /** Whether that is taken off without regard to the case of letters. */
  readonly folds: boolean;
  readonly policies: readonly Policy[];
  /** How long a request waits for a target when the pool has none for it (ms); 0 is not at all. */
  readonly holdMs: number;
  /** null when a policy always answers. */
  readonly pool: Pool | null;
  readonly fields: AnswerFields;
  /** Where response headers depend on the request; null where none does. */
  readonly variants: Variants | null;
};

/** The identity of a limit or a pool that belongs to a route: stable over swaps and restarts. */
export const routeKey = (domain: string, part: string): Key => keyOf(`${domain}\n${part}`);

/** Reads a published route. It was judged before it was saved, so a worker needs no schema, nor the memory for one. */
export function compileRoute(json: string, pools: Pools): CompiledRoute {
  const route: RouteSpec = JSON.parse(json);
  const answers = route.respond !== null || route.redirects.length > 0 || route.responds !== undefined;
  // A site that says nothing at all is one whose last target went.
  const deserted = route.upstreams.length === 0 && route.handles.length === 0 && !answers;
  const sitePool = deserted ? pools.open(route.domain, [], route.tls) : poolOf(route, route, pools);
  const clientAuth = compileClientAuth(route);
  return {
    domain: route.domain,
    https: route.https,
    clientRule: clientAuth?.rule ?? '',
    clientAuth,
    site: answers || sitePool !== null ? siteBlock(route, sitePool) : null,
    blocks: route.handles.map((handle, index) => pathBlock(route, handle, index, sitePool, pools)),
    fields: compileAnswerFields(unconditional(route.headers), route.https),
    ambiguity: compileAmbiguity(route),
  };
}

function siteBlock(route: RouteSpec, pool: Pool | null): CompiledBlock {
  return withHeaders(
    {
      index: -1,
      pattern: null,
      condition: null,
      strip: '',
      folds: foldsPaths(route),
      policies: policiesOf(route, null, -1),
      holdMs: holdOf(route.hold_secs),
      pool,
    },
    route.headers,
    route,
  );
}

function pathBlock(route: RouteSpec, handle: HandleSpec, index: number, sitePool: Pool | null, pools: Pools): CompiledBlock {
  const folds = foldsPaths(route);
  const pattern = handle.path === null ? null : compilePattern(handle.path, folds);
  const { match } = handle;
  const block = {
    index,
    pattern,
    condition: match === undefined ? null : { name: match.name ?? 'a condition', matches: compileCondition(match, folds) },
    folds,
    strip: handle.strip_prefix && pattern !== null ? pattern.prefix : '',
    policies: policiesOf(route, handle, index),
    // A block that says nothing does as its site says.
    holdMs: holdOf(handle.hold_secs === undefined ? route.hold_secs : handle.hold_secs),
    pool: poolOf(route, ownPool(route, handle), pools) ?? sitePool,
  };
  return withHeaders(block, [...route.headers, ...handle.headers], route);
}

const holdOf = (secs: number | null | undefined): number => (secs ?? 0) * 1_000;

function withHeaders(bare: Omit<CompiledBlock, 'fields' | 'variants'>, headers: readonly HeaderSpec[], route: RouteSpec): CompiledBlock {
  const block = { ...bare, fields: compileAnswerFields(unconditional(headers), route.https) };
  return { ...block, variants: compileVariants(block, headers, route) };
}

function poolOf({ domain, health }: RouteSpec, spec: PoolSpec | null, pools: Pools): Pool | null {
  if (spec === null || spec.upstreams.length === 0) return null;
  return pools.open(domain, spec.upstreams, spec.tls, health, spec.transport);
}

/** The pools of a route, each once. */
export const poolsOf = (route: CompiledRoute): Set<Pool> => new Set([route.site, ...route.blocks].flatMap((block) => block?.pool ?? []));

/** The block that answers a request: the first that matches in the order written, else the site itself. */
export function blockFor(route: CompiledRoute, x: Exchange): CompiledBlock | null {
  const block = plainBlockFor(route, x);
  return block === null || block.variants === null ? block : block.variants.choose(x);
}

function plainBlockFor(route: CompiledRoute, x: Exchange): CompiledBlock | null {
  for (const block of route.blocks) {
    if (block.pattern !== null && !block.pattern.matches(x.path)) continue;
    if (block.condition === null || block.condition.matches(x.path, x)) return block;
  }
  return route.site;
}

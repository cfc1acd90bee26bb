import type { CacheSpec } from '../../../shared/policy/cache/cache.ts';
import { ownPool, type PoolSpec } from '../../../shared/pools.ts';
import type { HandleSpec, HeaderSpec, RouteSpec, UpstreamSpec } from '../../../shared/route.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { TransportSpec } from '../../../shared/transport.ts';
import type { Address } from '../../../shared/values/address.ts';
import { type AnswerFields, compileAnswerFields } from '../exchange/answer-fields.ts';
import type { Block, Exchange, Site } from '../exchange/exchange.ts';
import type { Filter } from '../exchange/filter.ts';
import type { InternalTools } from '../exchange/internal-exchange.ts';
import type { Responder } from '../exchange/responder.ts';
import { compileCondition, type Test } from '../match/condition.ts';
import { compileExcluded } from '../match/excluded.ts';
import type { HostIndex } from '../match/host-index.ts';
import { compilePattern, foldsPaths, type Pattern, remainderIn } from '../match/pattern.ts';
import { type ClientAuth, compileClientAuth } from '../policy/client-certificate/client-auth.ts';
import { headersIn } from '../policy/header/header.ts';
import { POLICIES } from '../policy/order.ts';
import type { KindTools, Policy, PolicyKind } from '../policy/policy.ts';
import { withChallenge } from '../policy/under-attack/own-paths.ts';
import { ownPathsOf } from '../respond/beacon/beacon.ts';
import { CachedResponder, keyPartsOf } from '../respond/cache/cached-responder.ts';
import type { FillTools } from '../respond/cache/fill-block.ts';
import { invalidationOf } from '../respond/cache/invalidation.ts';
import { errorPagesOf } from '../respond/errors/error-pages.ts';
import { fileServerOf } from '../respond/files/file-server.ts';
import { type FileTools, fileTools } from '../respond/files/file-tools.ts';
import { FILTERS, type FilterKind } from '../respond/filters.ts';
import { fixedResponder } from '../respond/fixed.ts';
import { Forwarder, type ForwardTools } from '../upstream/forward.ts';
import type { Pool, Pools } from '../upstream/pool.ts';
import { type Ambiguity, compileAmbiguity } from './ambiguity.ts';
import { ownCookiesOf } from './own-cookies.ts';
import { compileVariants, unconditional, type Variants } from './variants.ts';

/** A route as the request path uses it: everything that depends on the route alone is precomputed. */
export type CompiledRoute = Site & {
  readonly https: RouteSpec['https'];
  /** The ports that it is served on; null for all. */
  readonly ports: readonly number[] | null;
  /** Identifies the client certificate rule; equal only for equal rules. Empty for none. */
  readonly clientRule: string;
  /** The same, for TLS handshakes. */
  readonly clientAuth: ClientAuth | null;
  /** What answers when no block matches; null if the site has nothing outside its blocks. */
  readonly site: CompiledBlock | null;
  readonly blocks: readonly CompiledBlock[];
  /** Set if access to the site depends on the path: then a path must mean the same to every server that reads it. */
  readonly ambiguity: Ambiguity | null;
  /** The pools that policies use, such as authentication servers. */
  readonly policyPools: readonly Pool[];
  /** What is answered under the proxy's own paths. */
  readonly ownPaths: ReturnType<typeof withChallenge>;
};

/** A path block, merged with the site's directives. */
export type CompiledBlock = Block & {
  /** Its index among the blocks, -1 for the site itself. */
  readonly index: number;
  /** null matches every path. */
  readonly pattern: Pattern | null;
  /** Further conditions on the request; null for none. */
  readonly condition: { readonly name: string; readonly matches: Test } | null;
  /** The prefix that handle_path strips from the path before forwarding; empty for none. */
  readonly strip: string;
  /** Whether the prefix is matched case-insensitively. */
  readonly folds: boolean;
  readonly policies: readonly Policy[];
  /** What answers when all policies have allowed a request; null for nothing. */
  readonly responder: Responder | null;
  /** How long a request waits for a target when the pool has none for it (ms); 0 is not at all. */
  readonly holdMs: number;
  /** null if nothing is forwarded. */
  readonly pool: Pool | null;
  /** Response headers that depend on the request; null for none. */
  readonly variants: Variants<CompiledBlock> | null;
};

/** Compiles a kind of responder that `RouteCompiler` does not; null if the block has none of this kind. */
export type ResponderKind = (route: RouteSpec, handle: HandleSpec | null, tools: FileTools) => Responder | null;

/** What blocks can have in addition to policies and upstreams. */
export type BlockKinds = {
  readonly policies: readonly PolicyKind[];
  readonly responders: readonly ResponderKind[];
  readonly filters: readonly FilterKind[];
};

const KINDS: BlockKinds = { policies: POLICIES, responders: [fileServerOf], filters: FILTERS };

export type CompilerTools = ForwardTools &
  InternalTools &
  Pick<FillTools, 'store'> &
  Pick<KindTools, 'mirrored'> & { readonly clock: Clock };

/** Compiles published routes for the request path. */
export class RouteCompiler {
  private readonly pools: Pools;
  private readonly tools: CompilerTools;
  private readonly kinds: BlockKinds;
  private readonly files: FileTools;

  /** What the route that is being compiled has opened for its policies. */
  private policyPools: Pool[] = [];

  constructor(pools: Pools, tools: CompilerTools, kinds = KINDS) {
    this.pools = pools;
    this.tools = tools;
    this.kinds = kinds;
    this.files = fileTools(tools.clock, tools.faults);
  }

  /** Parses a published route. It was validated before it was saved, so a worker needs no schema, nor the memory for one. */
  compile(json: string): CompiledRoute {
    const route: RouteSpec = JSON.parse(json);
    this.policyPools = [];
    const answers = route.respond !== null || route.redirects.length > 0 || route.responds !== undefined || route.file_server != null;
    // A site without any directive is one whose last target was removed.
    const hasNoTargets = route.upstreams.length === 0 && route.handles.length === 0 && !answers;
    const sitePool = hasNoTargets
      ? this.pools.open(route.domain, { upstreams: [], tls: route.tls, transport: route.transport })
      : this.poolOf(route, route);
    const clientAuth = compileClientAuth(route);
    return {
      domain: route.domain,
      https: route.https,
      ports: route.ports ?? null,
      clientRule: clientAuth?.rule ?? '',
      clientAuth,
      site: answers || sitePool !== null ? this.siteBlock(route, sitePool) : null,
      blocks: route.handles.map((handle, index) => this.pathBlock(route, handle, index, sitePool)),
      fields: compileAnswerFields(unconditional(headersIn(route, null).own), route.https),
      ambiguity: compileAmbiguity(route),
      policyPools: this.policyPools,
      ownPaths: withChallenge(route, ownPathsOf(route)),
      errorPages: errorPagesOf(route, null, this.files),
      excluded: compileExcluded(route),
      log: route.log,
    };
  }

  private siteBlock(route: RouteSpec, pool: Pool | null): CompiledBlock {
    const holdMs = holdOf(route.hold_secs);
    const policies = this.policiesOf(route, null, -1);
    const block = {
      index: -1,
      pattern: null,
      condition: null,
      strip: '',
      folds: foldsPaths(route),
      policies,
      decidesField: fieldsDecidedBy(policies),
      filters: this.filtersOf(route, null),
      errorPages: errorPagesOf(route, null, this.files),
      responder: this.responderOf(route, null, pool, holdMs),
      holdMs,
      pool,
    };
    return withHeaders(block, route, null);
  }

  private pathBlock(route: RouteSpec, handle: HandleSpec, index: number, sitePool: Pool | null): CompiledBlock {
    const folds = foldsPaths(route);
    const pattern = handle.path === null ? null : compilePattern(handle.path, folds);
    const { match } = handle;
    // A block without directives of its own inherits the site's.
    const holdMs = holdOf(handle.hold_secs === undefined ? route.hold_secs : handle.hold_secs);
    const pool = this.poolOf(route, ownPool(route, handle)) ?? sitePool;
    const policies = this.policiesOf(route, handle, index);
    const block = {
      index,
      pattern,
      condition: match === undefined ? null : { name: match.name ?? 'a condition', matches: compileCondition(match, folds) },
      folds,
      strip: handle.strip_prefix && pattern !== null ? pattern.prefix : '',
      policies,
      decidesField: fieldsDecidedBy(policies),
      filters: this.filtersOf(route, handle),
      errorPages: errorPagesOf(route, handle, this.files, remainderIn(route, handle)),
      responder: this.responderOf(route, handle, pool, holdMs),
      holdMs,
      pool,
    };
    return withHeaders(block, route, handle);
  }

  /** The block's own fixed response, or the site's if the block has neither response nor upstream; else the upstream. */
  private responderOf(route: RouteSpec, handle: HandleSpec | null, pool: Pool | null, holdMs: number): Responder | null {
    for (const kind of this.kinds.responders) {
      const responder = kind(route, handle, this.files);
      if (responder !== null) return responder;
    }
    const fixed = handle === null ? route.respond : (handle.respond ?? (handle.upstreams.length === 0 ? route.respond : null));
    if (fixed !== null) return fixedResponder(fixed, remainderIn(route, handle));
    return pool === null ? null : this.cached(route, handle, new Forwarder(pool, holdMs, this.tools));
  }

  /** The upstream behind the cache, if the block has one. */
  private cached(route: RouteSpec, handle: HandleSpec | null, upstream: Responder): Responder {
    const spec = cacheOf(route, handle);
    if (spec === null) return upstream;
    const bypass = spec.bypass === undefined ? null : compileCondition(spec.bypass, foldsPaths(route));
    const block = {
      name: cachedBlockName(route, handle),
      ownCookies: ownCookiesOf(route),
      identified: identifiesUsers(route) || (handle !== null && identifiesUsers(handle)),
      bypass: bypass === null ? null : (x: Exchange) => bypass(x.path, x),
    };
    return new CachedResponder(upstream, spec, block, this.tools);
  }

  private policiesOf(route: RouteSpec, handle: HandleSpec | null, index: number): readonly Policy[] {
    const tools: KindTools = {
      upstream: (addresses, tls, transport) => this.policyUpstream(route, addresses, tls, transport),
      internal: this.tools,
      mirrored: this.tools.mirrored,
    };
    return this.kinds.policies.flatMap((kind) => kind(route, handle, index, tools));
  }

  private policyUpstream({ domain }: RouteSpec, addresses: readonly Address[], tls: boolean, transport: TransportSpec): Responder {
    const upstreams = addresses.map((address) => ({ address, weight: 1, state: 'healthy' as const }));
    const pool = this.pools.open(domain, { upstreams, tls, transport });
    this.policyPools.push(pool);
    return new Forwarder(pool, 0, this.tools);
  }

  private filtersOf(route: RouteSpec, handle: HandleSpec | null): readonly Filter[] | null {
    const filters = this.kinds.filters.flatMap((kind) => kind(route, handle) ?? []);
    // Nearest to the upstream: what it has changed must not be used any more, whatever becomes of the response.
    const cache = cacheOf(route, handle);
    if (cache !== null) filters.unshift(invalidationOf(this.tools.store, cachedBlockName(route, handle), keyPartsOf(cache)));
    return filters.length === 0 ? null : filters;
  }

  private poolOf({ domain }: RouteSpec, spec: PoolSpec<UpstreamSpec> | null): Pool | null {
    if (spec === null || spec.upstreams.length === 0) return null;
    return this.pools.open(domain, spec);
  }
}

function fieldsDecidedBy(policies: readonly Policy[]): Block['decidesField'] {
  const tests = policies.flatMap(({ decidesField }) => decidesField ?? []);
  return tests.length === 0 ? null : (folded) => tests.some((decides) => decides(folded));
}

/** A block without the directive has that of its site. */
const cacheOf = (route: RouteSpec, handle: HandleSpec | null): CacheSpec | null =>
  (handle?.cache === undefined ? route.cache : handle.cache) ?? null;

/** Blocks with conditions may answer requests for the same URL, and so may the routes of other ports. */
const cachedBlockName = ({ ports }: RouteSpec, handle: HandleSpec | null): string =>
  (handle?.match === undefined ? '' : JSON.stringify(handle.match)) + (ports === undefined ? '' : ports.join());

/** Whether the upstream learns who the user is from fields that are in no key. */
const identifiesUsers = ({ forward_auth, basic_auth, jwt }: RouteSpec | HandleSpec): boolean =>
  forward_auth != null || basic_auth !== null || jwt != null;

const holdOf = (secs: number | null | undefined): number => (secs ?? 0) * 1_000;

function withHeaders(
  bare: Omit<CompiledBlock, 'fields' | 'ownFields' | 'variants'>,
  route: RouteSpec,
  handle: HandleSpec | null,
): CompiledBlock {
  const remainder = remainderIn(route, handle);
  const { all, own } = headersIn(route, handle);
  const fieldsOf = (headers: readonly HeaderSpec[]): AnswerFields => compileAnswerFields(headers, route.https, remainder);
  const fieldsFor = (headers: readonly HeaderSpec[]): Pick<CompiledBlock, 'fields' | 'ownFields'> => {
    const fields = fieldsOf(headers);
    return { fields, ownFields: all.length === own.length ? fields : fieldsOf(headers.filter(({ upstream_only }) => !upstream_only)) };
  };
  const block: CompiledBlock = { ...bare, ...fieldsFor(unconditional(all)), variants: null };
  return { ...block, variants: compileVariants(block, all, route, fieldsFor) };
}

/** The pools of a route, each once. */
export const poolsOf = (route: CompiledRoute): Set<Pool> =>
  new Set([...[route.site, ...route.blocks].flatMap((block) => block?.pool ?? []), ...route.policyPools]);

/** The pools of a domain in a table; none if it is not routed. */
export function poolsAt(index: HostIndex<CompiledRoute>, domain: string): ReadonlySet<Pool> {
  const route = index.at(domain);
  return route === null ? new Set() : poolsOf(route);
}

/** The block in this table for an exchange that may have been served by an earlier one; null if it has none, or keeps its own pool. */
export function newestBlock(index: HostIndex<CompiledRoute>, x: Exchange): CompiledBlock | null {
  const request = x.requestPath.routedAs(x);
  const route = request && index.find(request.host, request.port);
  return route && blockFor(route, request);
}

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

import type { CacheSpec } from '../../../shared/policy/cache/cache.ts';
import type { HandleSpec, HeaderSpec, RouteSpec, UpstreamSpec } from '../../../shared/route.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { ownPool, type PoolSpec, passthroughPool } from '../../../shared/upstreams/pools.ts';
import type { Address } from '../../../shared/values/address.ts';
import { type AnswerFields, compileAnswerFields } from '../exchange/answer-fields.ts';
import type { Block, Exchange } from '../exchange/exchange.ts';
import type { Filter } from '../exchange/filter.ts';
import type { InternalTools } from '../exchange/internal-exchange.ts';
import type { Responder } from '../exchange/responder.ts';
import { compileCondition } from '../match/condition.ts';
import { compileExcluded } from '../match/excluded.ts';
import { compilePattern, foldsPaths, remainderIn } from '../match/pattern.ts';
import { compileClientAuth } from '../policy/client-certificate/client-auth.ts';
import { headersIn } from '../policy/header/header.ts';
import { POLICIES } from '../policy/order.ts';
import type { KindTools, Policy, PolicyKind } from '../policy/policy.ts';
import { withChallenge } from '../policy/under-attack/own-paths.ts';
import { ownPathsOf } from '../respond/beacon/beacon.ts';
import { CachedResponder, keyPartsOf } from '../respond/cache/cached-responder.ts';
import { compileDecided } from '../respond/cache/decided-fields.ts';
import type { FillTools } from '../respond/cache/fill-block.ts';
import { invalidationOf } from '../respond/cache/invalidation.ts';
import type { KeyedBlock } from '../respond/cache/key.ts';
import { errorPagesOf } from '../respond/errors/error-pages.ts';
import { fileServerOf } from '../respond/files/file-server.ts';
import { type FileTools, fileTools } from '../respond/files/file-tools.ts';
import { FILTERS, type FilterKind } from '../respond/filters.ts';
import { fixedResponder } from '../respond/fixed.ts';
import { Forwarder, type ForwardTools } from '../upstream/forward.ts';
import type { Pool, Pools } from '../upstream/pool/pool.ts';
import { type Ambiguity, compileAmbiguity } from './ambiguity.ts';
import { type BlockTraits, keepsUsualSessions, traitsOf } from './block-traits.ts';
import type { Blocks, CompiledBlock, CompiledRoute, Passthrough } from './compiled-route.ts';
import { ListedBlocks } from './listed-blocks.ts';
import { ownCookies } from './own-cookies.ts';
import { compileVariants, unconditional } from './variants.ts';

/** Compiles a kind of responder that `RouteCompiler` does not; null if the block has none of this kind. */
export type ResponderKind = (route: RouteSpec, handle: HandleSpec | null, tools: FileTools) => Responder | null;

/** What blocks can have in addition to policies and upstreams. */
export type BlockKinds = {
  readonly policies: readonly PolicyKind[];
  readonly responders: readonly ResponderKind[];
  readonly filters: readonly FilterKind[];
};

/** What blocks are compiled with: their route without regard to its blocks, the pool of its site, and the cookies of the proxy itself. */
export type BlockContext = {
  readonly route: RouteSpec;
  readonly pool: Pool | null;
  readonly hasBlocks: boolean;
  readonly ownCookies: RegExp;
};

/** What is different for the directives outside of all blocks, which are compiled to a block, too. */
type OwnParts = Pick<CompiledBlock, 'index' | 'pattern' | 'condition' | 'strip' | 'holdMs' | 'pool'>;

const KINDS: BlockKinds = { policies: POLICIES, responders: [fileServerOf], filters: FILTERS };

export type CompilerTools = ForwardTools &
  InternalTools &
  Pick<FillTools, 'store'> &
  Pick<KindTools, 'mirrored'> &
  Pick<FileTools, 'descriptors'> & { readonly clock: Clock };

/** Compiles published routes for the request path. */
export class RouteCompiler {
  private readonly pools: Pools;
  private readonly tools: CompilerTools;
  private readonly kinds: BlockKinds;
  private readonly files: FileTools;

  constructor(pools: Pools, tools: CompilerTools, kinds = KINDS) {
    this.pools = pools;
    this.tools = tools;
    this.kinds = kinds;
    this.files = fileTools(tools.clock, tools.faults, tools.descriptors);
  }

  /** Parses a published route. It was validated before it was saved, so a worker needs no schema, nor the memory for one. */
  compile(json: string): CompiledRoute {
    const route: RouteSpec = JSON.parse(json);
    const traits = traitsOf(route);
    const context = this.contextOf(route, traits, route.handles.length > 0);
    const blocks = new ListedBlocks(route.handles.map((handle, index) => this.block(context, handle, index)));
    return this.routeOf(
      context,
      blocks,
      compileAmbiguity(traits, foldsPaths(route), () => route),
    );
  }

  /** `traits` are those of the whole route; `route` itself needs no blocks. */
  contextOf(route: RouteSpec, traits: BlockTraits, hasBlocks: boolean): BlockContext {
    // A site without any directive is one whose last target was removed.
    const hasNoTargets = route.upstreams.length === 0 && !hasBlocks && !answersOutsideBlocks(route) && route.tls_passthrough == null;
    const pool = hasNoTargets
      ? this.pools.open(route.domain, { upstreams: [], tls: route.tls, transport: route.transport })
      : this.poolOf(route, route);
    return { route, pool, hasBlocks, ownCookies: ownCookies(keepsUsualSessions(traits)) };
  }

  routeOf(context: BlockContext, blocks: Blocks, ambiguity: Ambiguity | null): CompiledRoute {
    const { route, pool, hasBlocks } = context;
    const isHttp = hasBlocks || pool !== null || answersOutsideBlocks(route);
    return {
      domain: route.domain,
      https: route.https,
      ports: route.tls_passthrough != null && !isHttp ? [] : (route.ports ?? null),
      passthrough: this.passthroughOf(route),
      clientAuth: compileClientAuth(route),
      site: answersOutsideBlocks(route) || pool !== null ? this.siteBlock(context) : null,
      blocks,
      fields: compileAnswerFields(unconditional(headersIn(route, null).own), route.https),
      ambiguity,
      ownPaths: withChallenge(route, ownPathsOf(route)),
      errorPages: errorPagesOf(route, null, this.files),
      excluded: compileExcluded(route),
      log: route.log,
    };
  }

  private passthroughOf({ domain, ports, tls_passthrough }: RouteSpec): Passthrough[] | null {
    if (tls_passthrough == null) return null;
    return tls_passthrough.map((spec) => ({
      ports: spec.ports ?? ports ?? null,
      localIps: spec.local_ips ?? null,
      pool: this.pools.open(domain, passthroughPool(spec)),
      idleMs: spec.idle_timeout_secs * 1_000,
      proxyProtocol: spec.proxy_protocol ?? null,
    }));
  }

  private siteBlock(context: BlockContext): CompiledBlock {
    const { route, pool } = context;
    return this.blockOf(context, null, { index: -1, pattern: null, condition: null, strip: '', holdMs: holdOf(route.hold_secs), pool });
  }

  block(context: BlockContext, handle: HandleSpec, index: number): CompiledBlock {
    const { route } = context;
    const folds = foldsPaths(route);
    const pattern = handle.path === null ? null : compilePattern(handle.path, folds);
    const { match } = handle;
    return this.blockOf(context, handle, {
      index,
      pattern,
      condition: match === undefined ? null : { name: match.name ?? 'a condition', matches: compileCondition(match, folds) },
      strip: handle.strip_prefix && pattern !== null ? pattern.prefix : '',
      // A block without directives of its own inherits the site's.
      holdMs: holdOf(handle.hold_secs === undefined ? route.hold_secs : handle.hold_secs),
      pool: this.poolOf(route, ownPool(route, handle)) ?? context.pool,
    });
  }

  private blockOf(context: BlockContext, handle: HandleSpec | null, own: OwnParts): CompiledBlock {
    const { route } = context;
    const { policies, policyPools } = this.policiesOf(route, handle, own.index);
    const block = {
      ...own,
      folds: foldsPaths(route),
      policies,
      policyPools,
      decidesField: fieldsDecidedBy(policies),
      filters: this.filtersOf(route, handle),
      errorPages: errorPagesOf(route, handle, this.files, remainderIn(route, handle)),
      responder: this.responderOf(context, handle, own.pool, own.holdMs),
    };
    return withHeaders(block, route, handle);
  }

  /** The block's own fixed response, or the site's if the block has neither response nor upstream; else the upstream. */
  private responderOf(context: BlockContext, handle: HandleSpec | null, pool: Pool | null, holdMs: number): Responder | null {
    const { route } = context;
    for (const kind of this.kinds.responders) {
      const responder = kind(route, handle, this.files);
      if (responder !== null) return responder;
    }
    const fixed = handle === null ? route.respond : (handle.respond ?? (handle.upstreams.length === 0 ? route.respond : null));
    if (fixed !== null) return fixedResponder(fixed, remainderIn(route, handle));
    return pool === null ? null : this.cached(context, handle, new Forwarder(pool, holdMs, this.tools));
  }

  /** The upstream behind the cache, if the block has one. */
  private cached({ route, ownCookies }: BlockContext, handle: HandleSpec | null, upstream: Responder): Responder {
    const spec = cacheOf(route, handle);
    if (spec === null) return upstream;
    const bypass = spec.bypass === undefined ? null : compileCondition(spec.bypass, foldsPaths(route));
    const block = {
      ...keyedBlock(route, handle),
      ownCookies,
      identified: identifiesUsers(route) || (handle !== null && identifiesUsers(handle)),
      bypass: bypass === null ? null : (x: Exchange) => bypass(x.path, x),
    };
    return new CachedResponder(upstream, spec, block, this.tools);
  }

  private policiesOf(route: RouteSpec, handle: HandleSpec | null, index: number): Pick<CompiledBlock, 'policies' | 'policyPools'> {
    const policyPools: Pool[] = [];
    const pool = (spec: PoolSpec<UpstreamSpec>): Responder => {
      const opened = this.pools.open(route.domain, spec);
      policyPools.push(opened);
      return new Forwarder(opened, 0, this.tools);
    };
    const tools: KindTools = {
      upstream: (addresses, tls, transport) => pool({ upstreams: addresses.map(asTarget), tls, transport }),
      pool,
      internal: this.tools,
      mirrored: this.tools.mirrored,
    };
    return { policies: this.kinds.policies.flatMap((kind) => kind(route, handle, index, tools)), policyPools };
  }

  private filtersOf(route: RouteSpec, handle: HandleSpec | null): readonly Filter[] | null {
    const filters = this.kinds.filters.flatMap((kind) => kind(route, handle) ?? []);
    // Nearest to the upstream: stored responses that it has changed must not be used any more, even if this response never reaches its client.
    const cache = cacheOf(route, handle);
    if (cache !== null) filters.unshift(invalidationOf(this.tools.store, keyedBlock(route, handle), keyPartsOf(cache)));
    return filters.length === 0 ? null : filters;
  }

  private poolOf({ domain }: RouteSpec, spec: PoolSpec<UpstreamSpec> | null): Pool | null {
    if (spec === null || spec.upstreams.length === 0) return null;
    return this.pools.open(domain, spec);
  }
}

/** Whether the site answers requests that no block matches, without a target. */
const answersOutsideBlocks = ({ respond, redirects, responds, file_server }: RouteSpec): boolean =>
  respond !== null || redirects.length > 0 || responds !== undefined || file_server != null;

function fieldsDecidedBy(policies: readonly Policy[]): Block['decidesField'] {
  const tests = policies.flatMap(({ decidesField }) => decidesField ?? []);
  return tests.length === 0 ? null : (folded) => tests.some((decides) => decides(folded));
}

/** A block without the directive has that of its site. */
const cacheOf = (route: RouteSpec, handle: HandleSpec | null): CacheSpec | null =>
  (handle?.cache === undefined ? route.cache : handle.cache) ?? null;

/** Blocks with conditions may answer requests for the same URL, and so may the routes of other ports. */
const keyedBlock = (route: RouteSpec, handle: HandleSpec | null): KeyedBlock => ({
  name: (handle?.match === undefined ? '' : JSON.stringify(handle.match)) + (route.ports === undefined ? '' : route.ports.join()),
  decided: compileDecided(decidedNames(route, handle)),
});

/** The fields for the upstream that a block or its site writes. */
function decidedNames(route: RouteSpec, handle: HandleSpec | null): string[] {
  const changes = [...(route.request_headers ?? []), ...(handle?.request_headers ?? [])];
  const { copy_headers: headers = [] } = handle?.forward_auth ?? route.forward_auth ?? {};
  const { copy_claims: claims = [] } = handle?.jwt ?? route.jwt ?? {};
  return [...changes.flatMap(({ name, value }) => (value === null ? [] : [name])), ...[...headers, ...claims].map(({ to }) => to)];
}

/** Whether the upstream learns who the user is from fields that are in no key. */
const identifiesUsers = ({ forward_auth, basic_auth, jwt }: RouteSpec | HandleSpec): boolean =>
  forward_auth != null || basic_auth !== null || jwt != null;

const asTarget = (address: Address): UpstreamSpec => ({ address, weight: 1, state: 'healthy' });

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

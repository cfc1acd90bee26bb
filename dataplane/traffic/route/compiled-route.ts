import type { RouteSpec } from '../../../shared/route.ts';
import type { Block, Exchange, Site } from '../exchange/exchange.ts';
import type { Responder } from '../exchange/responder.ts';
import type { Test } from '../match/condition.ts';
import type { Pattern } from '../match/pattern.ts';
import type { Place } from '../match/place.ts';
import type { ClientAuthAt } from '../policy/client-certificate/client-auth.ts';
import type { Policy } from '../policy/policy.ts';
import type { withChallenge } from '../policy/under-attack/own-paths.ts';
import type { Pool } from '../upstream/pool/pool.ts';
import type { Ambiguity } from './ambiguity.ts';
import type { Variants } from './variants.ts';

/** A route as the request path uses it: everything that depends on the route alone is precomputed. */
export type CompiledRoute = Site & {
  readonly https: RouteSpec['https'];
  /** The ports that it is served on; null for all, and none if it only passes TLS connections through. */
  readonly ports: readonly number[] | null;
  /** Where TLS connections for it are passed on to; null if they end here. */
  readonly passthrough: readonly Passthrough[] | null;
  /** The client certificates that it requires: the first entry for a place applies. */
  readonly clientAuth: readonly ClientAuthAt[];
  /** What answers when no block matches; null if the site has nothing outside its blocks. */
  readonly site: CompiledBlock | null;
  readonly blocks: Blocks;
  /** Set if access to the site depends on the path: then a path must mean the same to every server that reads it. */
  readonly ambiguity: Ambiguity | null;
  /** The responder for the proxy's own paths. */
  readonly ownPaths: ReturnType<typeof withChallenge>;
};

/** The targets of TLS connections that arrive at some places. */
export type Passthrough = Place & {
  readonly pool: Pool;
  /** Milliseconds. */
  readonly idleMs: number;
  /** The version of the PROXY header that the target gets; null for none. */
  readonly proxyProtocol: 'v1' | 'v2' | null;
};

/** The path blocks of a route, in the order written. */
export interface Blocks {
  /** The first block that matches a request; null if none does. */
  choose(x: Exchange): CompiledBlock | null;
  /** The blocks that have been compiled: if there are many, only those that were used. */
  compiled(): Iterable<CompiledBlock>;
  /** The blocks that may have a target with this address, compiled if they were not. */
  naming(address: string): Iterable<CompiledBlock>;
}

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
  /** The pools that policies use, such as authentication servers. */
  readonly policyPools: readonly Pool[];
  /** What answers when all policies have allowed a request; null for nothing. */
  readonly responder: Responder | null;
  /** How long a request waits for a target when the pool has none for it (ms); 0 is not at all. */
  readonly holdMs: number;
  /** null if nothing is forwarded. */
  readonly pool: Pool | null;
  /** Response headers that depend on the request; null for none. */
  readonly variants: Variants<CompiledBlock> | null;
};

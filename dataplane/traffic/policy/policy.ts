import type { Condition } from '../../../shared/condition.ts';
import type { HandleSpec, RouteSpec, UpstreamSpec } from '../../../shared/route.ts';
import type { PoolSpec } from '../../../shared/upstreams/pools.ts';
import type { TransportSpec } from '../../../shared/upstreams/transport.ts';
import type { Address } from '../../../shared/values/address.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { InternalTools } from '../exchange/internal-exchange.ts';
import type { OwnAnswer } from '../exchange/own-answer.ts';
import type { Responder } from '../exchange/responder.ts';
import type { Countries } from '../match/countries.ts';
import type { HttpsSettings, MirrorResult } from '../protocol.ts';
import type { Passwords } from './basic-auth/passwords.ts';
import type { KeySets } from './jwt/key-sets.ts';
import type { Bots } from './under-attack/bots.ts';
import type { Clearances } from './under-attack/clearance.ts';

/** The dependencies of a policy, provided by its worker. */
export type PolicyTools = {
  /** Milliseconds since 1970. */
  now(): number;
  /** Requests counted by the second, the minute and the hour. */
  readonly rates: Ledger['rates'];
  readonly countries: Countries;
  readonly clearances: Clearances;
  readonly bots: Bots;
  readonly passwords: Passwords;
  readonly keySets: KeySets;
  /** Replaced as a whole when the settings or the certificates change. */
  readonly https: HttpsSettings;
  /** The ports for HTTPS, the main one first; none while they are closed. Replaced together with `https`. */
  readonly httpsPorts: readonly number[];
  /** Whether a provided certificate is used for a domain; wildcards as written. */
  isProvided(domain: string): boolean;
};

/** The policy cannot decide yet and will resume the exchange with its decision in a later turn. */
export const LATER = Symbol('later');

/** Describes what a policy would do with a request; `answers` if the policy would answer it. */
export type PolicyExplanation = { readonly words: string; readonly answers: boolean };

/** One rule of one block, compiled. */
export interface Policy {
  readonly name: string;
  /**
   * The response that ends the request here, null to continue with the next policy, or LATER. It has no effects other than on its own
   * counters, on what the upstream gets (`upstreamTarget` and `upstreamFields` of the exchange) and on who is logged as its `user`.
   */
  decide(x: Exchange, tools: PolicyTools): OwnAnswer | null | typeof LATER;
  /**
   * Whether it sets or removes a field of what the upstream gets, whose name is folded (`foldedName`). An upstream may take a trailer for
   * such a field, so a client's trailer of that name is not forwarded. Absent: none.
   */
  decidesField?(folded: string): boolean;
  /** What `decide` would do now, without any effect; null if the policy does not apply. */
  explain(x: Exchange, tools: PolicyTools): PolicyExplanation | null;
}

/** Compiles one kind of policy for a block; `handle` null is the site itself. The site's policies come before the block's own. */
export type PolicyKind = (route: RouteSpec, handle: HandleSpec | null, index: number, tools: KindTools) => readonly Policy[];

/** What policies may use when they are compiled. */
export type KindTools = {
  /** What sends requests to these targets. They belong to the route as long as it exists. */
  upstream(addresses: readonly Address[], tls: boolean, transport: TransportSpec): Responder;
  /** The same, for a pool. */
  pool(spec: PoolSpec<UpstreamSpec>): Responder;
  readonly internal: InternalTools;
  /** Counts a copy of a request for a mirror. */
  mirrored(request: { readonly host: string; readonly pattern: string }, result: MirrorResult): void;
};

/**
 * A rule that a site or block applies to some requests and not to others, so that the result must not depend on how
 * the path is interpreted. It applies to requests that match both, or to the whole block if neither is given.
 */
export type Guard = { readonly from?: string; readonly match?: Condition | undefined };

/** The guards that a policy adds to a site (`handle` null) or to one of its blocks. */
export type Guards = (part: RouteSpec | HandleSpec, handle: HandleSpec | null) => readonly Guard[];

/** For a policy that treats all paths of a host alike. */
export const NO_GUARDS: Guards = () => [];

export const passes = (words: string): PolicyExplanation => ({ words, answers: false });
export const answers = (words: string): PolicyExplanation => ({ words, answers: true });

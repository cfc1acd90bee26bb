import type { Condition } from '../../../shared/condition.ts';
import type { HandleSpec, RouteSpec } from '../../../shared/route.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { OwnAnswer } from '../exchange/own-answer.ts';
import type { HttpsSettings } from '../protocol.ts';
import type { Passwords } from './basic-auth/passwords.ts';

/** What a policy needs of its worker. */
export type PolicyTools = {
  /** Milliseconds since 1970. */
  now(): number;
  /** Counts a request against a rate. @returns whether it is within the limit. */
  admit(place: number, tag: number, limit: number, now: number): boolean;
  /** The same without counting it. */
  wouldAdmit(place: number, tag: number, limit: number, now: number): boolean;
  readonly passwords: Passwords;
  /** Replaced as a whole when the settings or the certificates change. */
  readonly https: HttpsSettings;
  /** Whether a certificate that somebody brought is shown for a domain, wildcards as they are written. */
  isBrought(domain: string): boolean;
};

/** A policy that cannot decide yet: it resumes the exchange with its decision, in a later turn. */
export const LATER = Symbol('later');

/** What a policy would do with a request, in words; `answers` where it ends there. */
export type Explanation = { readonly words: string; readonly answers: boolean };

/** One rule of one block, compiled. */
export interface Policy {
  readonly name: string;
  /**
   * The answer that ends the request here, null: ask the next one, or LATER. It has no other effect than on counters of its own
   * and on what the upstream gets (`upstreamTarget` and `upstreamFields` of the exchange).
   */
  decide(x: Exchange, tools: PolicyTools): OwnAnswer | null | typeof LATER;
  /** What `decide` would do now, without any effect; null where the policy is not in force. */
  explain(x: Exchange, tools: PolicyTools): Explanation | null;
}

/** Compiles the policies of one kind for a block; `handle` null is the site itself. The site's come before the block's own. */
export type PolicyKind = (route: RouteSpec, handle: HandleSpec | null, index: number) => readonly Policy[];

/**
 * Something that a site, or one of its blocks, does to some requests and not to others, so that it must not depend on who
 * reads the path: those that match both. Where neither is said it acts on all of its block.
 */
export type Guard = { readonly from?: string; readonly match?: Condition | undefined };

/** The guards that a policy puts up in a site (`handle` null) or in a block of it. */
export type Guards = (part: RouteSpec | HandleSpec, handle: HandleSpec | null) => readonly Guard[];

/** For a policy that treats all paths of a host alike. */
export const NO_GUARDS: Guards = () => [];

export const passes = (words: string): Explanation => ({ words, answers: false });
export const answers = (words: string): Explanation => ({ words, answers: true });

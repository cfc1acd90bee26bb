import type { Certificate } from '../../../../shared/certificates/certificate.ts';
import type { Condition } from '../../../../shared/condition.ts';
import type { Parsed } from '../../../../shared/parsed.ts';
import type {
  BasicAuthSpec,
  ClientAuthSpec,
  ConditionalRateSpec,
  ConditionalRespondSpec,
  HeaderSpec,
  RedirectSpec,
  RespondSpec,
  RouteSpec,
  UpstreamSpec,
} from '../../../../shared/route.ts';
import type { TransportSpec } from '../../../../shared/transport.ts';
import type { Report } from '../diagnostics.ts';
import type { Matchers } from '../matchers/matcher.ts';
import type { Place, Word } from '../tokens/word.ts';
import type { Block, Directive } from '../tree/syntax.ts';

/** What kind of block a directive stands in. */
export type Scope = 'globals' | 'site' | 'handle';

/** A directive of the language: its shape, checked before `read` is called, and what it means. */
export type Rule<Draft> = {
  readonly name: string;
  /** How it is written, for errors and for the reference. */
  readonly form: string;
  readonly scopes: readonly Scope[];
  /** Fewest and most arguments. */
  readonly args: readonly [least: number, most: number];
  /** `instead`: where a block stands there are no arguments. */
  readonly block: 'none' | 'optional' | 'required' | 'instead';
  /** What other proxies allow in its block, and what to do instead here. */
  readonly foreign?: ReadonlyMap<string, string>;
  /** May stand several times in one block; `conditionally`: with a matcher. */
  readonly repeats: boolean | 'conditionally';
  /** Where a named matcher may stand: before the arguments, which are then given without it, or instead of a path pattern. */
  readonly matcher?: 'before' | 'instead';
  /** `condition`: what the matcher before the arguments says; null without one. */
  read(directive: Directive, draft: Draft, context: Context, condition: Condition | null): void;
};

/** Part of the language, refused until it works. */
export type PlannedRule = { readonly name: string; readonly scopes: readonly Scope[]; readonly planned: true };

export type Rules<Draft> = ReadonlyMap<string, Rule<Draft> | PlannedRule>;

export type Context = {
  readonly report: Report;
  /** The matchers that the block may use. */
  readonly matchers: Matchers;
  /** The block with the lines that its imports stand for in their places. */
  expanded(block: Block): Block;
  /** What a file holds that a word names. It is looked at again whenever that changes. */
  textOf(word: Word): Parsed<string>;
  /** Milliseconds since 1970: what has ended by then is worth a warning. */
  readonly now: number;
  /** Reads the directives of a block inside a site. */
  readBlock(block: Block, scope: Scope, draft: SiteDraft): void;
};

/** What a line with a matcher says, and where it stands. */
export type Placed<Spec> = { readonly place: Place; readonly spec: Spec };

/** What a site or one of its blocks says, while it is read. */
export type SiteDraft = {
  /** The first of each directive in the block, understood or not. */
  readonly seen: Word[];
  tls: boolean;
  https: RouteSpec['https'];
  /** The certificate that the site brings, and the word that names its file. */
  pair: { readonly word: Word; readonly pair: Certificate } | null;
  clientAuth: ClientAuthSpec | null;
  /** undefined where nothing is said. */
  pathCase: RouteSpec['path_case'];
  rateLimit: number | null;
  /** Seconds; undefined where nothing is said. */
  holdSecs: number | undefined;
  readonly rateLimits: ConditionalRateSpec[];
  basicAuth: BasicAuthSpec | null;
  respond: RespondSpec | null;
  readonly responds: Placed<ConditionalRespondSpec>[];
  readonly upstreams: UpstreamSpec[];
  /** undefined where nothing is said; null: in no particular way. */
  transport: TransportSpec | null | undefined;
  readonly headers: HeaderSpec[];
  readonly redirects: RedirectDraft[];
  readonly handles: HandleDraft[];
};

/** A redirect, with the word that says where it leads. */
export type RedirectDraft = { readonly spec: RedirectSpec; readonly target: Word };

/** A path block, with the place of its directive. */
export type HandleDraft = {
  readonly place: Place;
  readonly path: string | null;
  readonly match: Condition | null;
  readonly strip: boolean;
  readonly draft: SiteDraft;
};

export function emptyDraft(): SiteDraft {
  return {
    seen: [],
    tls: false,
    https: 'auto',
    pair: null,
    clientAuth: null,
    pathCase: undefined,
    rateLimit: null,
    holdSecs: undefined,
    rateLimits: [],
    basicAuth: null,
    respond: null,
    responds: [],
    upstreams: [],
    transport: undefined,
    headers: [],
    redirects: [],
    handles: [],
  };
}

/** Where a directive stands first among those that were seen. */
export const firstOf = (seen: readonly Word[], name: string): Word | undefined => seen.find((word) => word.text === name);

export function rulesByName<Draft>(available: readonly Rule<Draft>[], planned: readonly string[], scopes: readonly Scope[]): Rules<Draft> {
  const later = planned.map((name): PlannedRule => ({ name, scopes, planned: true }));
  return new Map([...available, ...later].map((rule) => [rule.name, rule]));
}

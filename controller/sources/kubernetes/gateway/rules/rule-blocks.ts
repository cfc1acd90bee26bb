import { handleSchema, type RouteInput } from '../../../../../shared/route.ts';
import { ROLLOUT_OPTIONS } from '../../backends/rollout-options.ts';
import type { HttpMatch, HttpRoute, HttpRule, RouteBackend } from '../../objects/http-route.ts';
import { nameOf } from '../../objects/meta.ts';
import { fails, type Verdict } from '../status/verdict.ts';
import { conditionOfMatch, type MatchMembers } from './conditions.ts';
import { parseDuration } from './durations.ts';
import { type Arrival, type FilterMembers, joinMembers, readFilter } from './filters.ts';
import { mirrorsOf } from './mirrors.ts';
import type { BackendPool, RouteBackends } from './route-backends.ts';

export type RuleBlock = NonNullable<RouteInput['handles']>[number];

/** The blocks of a rule for one of its matches, and what is wrong with it. */
export type RuleBlocks = {
  readonly blocks: readonly RuleBlock[];
  /** A backend that can't be used: its requests are answered with 500. */
  readonly unresolved: Verdict | null;
  /** Something that is not supported: all requests of the match are answered with 500, or there are none because of it. */
  readonly invalid: Verdict | null;
};

const INTERNAL_ERROR = { status: 500, body: '' };
const UNAVAILABLE = { status: 503, body: '' };

/** Translates a rule. `number` is its position in its route, from 1. */
export function blocksOfRule(
  route: HttpRoute,
  rule: HttpRule,
  number: number,
  match: HttpMatch,
  arrival: Arrival,
  backends: Pick<RouteBackends, 'resolve'>,
): RuleBlocks {
  const name = `${route.kind} ${nameOf(route.meta)} rule ${number}`;
  const condition = conditionOfMatch(match);
  const refused = (message: string): RuleBlocks => {
    const closed = block(name, condition, { respond: INTERNAL_ERROR });
    // A condition that is not valid would make the route of its host invalid, which others share.
    const isValid = faultOf(closed) === null;
    const consequence = isValid ? 'its requests are answered with 500' : 'no request matches it';
    return { blocks: isValid ? [closed] : [], unresolved: null, invalid: fails('UnsupportedValue', `${message}; ${consequence}`) };
  };
  const members = membersOf(rule, match, arrival);
  if (typeof members === 'string') return refused(`rule ${number}: ${members}`);
  const { blocks, unresolved } = members.redirects
    ? { blocks: [members], unresolved: null }
    : groupsOf(route, rule, match, arrival, members, backends);
  if (typeof blocks === 'string') return refused(`rule ${number}: ${blocks}`);
  const whole = blocks.map((one) => block(name, condition, one));
  const fault = whole.map(faultOf).find((one) => one !== null);
  return fault ? refused(`rule ${number}: ${fault}`) : { blocks: whole, unresolved, invalid: null };
}

/** The members that the filters and time limits of a rule set. */
function membersOf({ filters, timeouts }: HttpRule, match: HttpMatch, arrival: Arrival): FilterMembers | string {
  let members: FilterMembers = {};
  for (const filter of filters) {
    if (filter.requestMirror) continue;
    const read = readFilter(filter, match.path, arrival);
    if (typeof read === 'string') return read;
    members = joinMembers(members, read);
  }
  for (const limit of [timeouts.request, timeouts.backendRequest]) {
    const time = limit === undefined ? null : parseDuration(limit);
    if (time?.ok === false) return time.reason;
  }
  return members;
}

type BlockMembers = Partial<RuleBlock> & { readonly share?: { readonly from: number; readonly to: number; readonly of: number } };

/** One block for each backend with a weight, so that its share does not depend on the number of its targets. */
function groupsOf(
  route: HttpRoute,
  rule: HttpRule,
  match: HttpMatch,
  arrival: Arrival,
  members: FilterMembers,
  backends: Pick<RouteBackends, 'resolve'>,
): { readonly blocks: BlockMembers[] | string; readonly unresolved: Verdict | null } {
  const weighted = rule.backends.filter(({ weight }) => weight > 0);
  const of = weighted.reduce((sum, { weight }) => sum + weight, 0);
  const copies = mirrorsOf(route, rule.filters, backends);
  let { unresolved } = copies;
  for (const backend of rule.backends) unresolved ??= backends.resolve(wanted(route), backend).fault;
  if (of === 0) return { blocks: [{ ...members, respond: INTERNAL_ERROR }], unresolved };
  const blocks: BlockMembers[] = [];
  let from = 0;
  for (const backend of weighted) {
    const read = targetMembers(backend, match, arrival);
    if (typeof read === 'string') return { blocks: read, unresolved };
    const targets = backends.resolve(wanted(route), backend);
    const own = mirrorsOf(route, backend.filters, backends);
    unresolved ??= own.unresolved;
    const mirrors = [...copies.mirrors, ...own.mirrors];
    const to = from + backend.weight;
    blocks.push({
      ...joinMembers(members, read),
      ...(mirrors.length > 0 && { mirrors }),
      ...(targets.pool ? destination(targets.pool, rule) : { respond: INTERNAL_ERROR }),
      ...(weighted.length > 1 && { share: { from, to, of } }),
    });
    from = to;
  }
  return { blocks, unresolved };
}

const wanted = ({ kind, meta }: HttpRoute) => ({ kind, namespace: meta.namespace });

function targetMembers({ filters }: RouteBackend, match: HttpMatch, arrival: Arrival): FilterMembers | string {
  let members: FilterMembers = {};
  for (const filter of filters) {
    if (filter.requestMirror) continue;
    const read =
      filter.requestRedirect || filter.cors
        ? `the filter ${filter.type} is not supported in backendRefs`
        : readFilter(filter, match.path, arrival);
    if (typeof read === 'string') return read;
    members = joinMembers(members, read);
  }
  return members;
}

/** The service exists but has no targets, so the response is 503. */
function destination(pool: BackendPool, { timeouts }: HttpRule): Partial<RuleBlock> {
  if (pool.upstreams?.length === 0) return { respond: UNAVAILABLE };
  const limits = limitsOf(timeouts);
  const used = { ...pool, ...ROLLOUT_OPTIONS };
  return limits === null ? used : { ...used, transport: { ...pool.transport, ...limits } };
}

/** 0 is no limit, as in the API. */
function limitsOf({
  request,
  backendRequest,
}: HttpRule['timeouts']): Pick<NonNullable<RuleBlock['transport']>, 'request_timeout_secs' | 'response_header_timeout_secs'> | null {
  const secsOf = (text: string | undefined) => {
    const time = text === undefined ? null : parseDuration(text);
    return time?.ok ? time.value / 1_000 : undefined;
  };
  const [whole, attempt] = [secsOf(request), secsOf(backendRequest)];
  if (whole === undefined && attempt === undefined) return null;
  return {
    ...(whole !== undefined && { request_timeout_secs: whole }),
    ...(attempt !== undefined && { response_header_timeout_secs: attempt }),
  };
}

function block(name: string, condition: MatchMembers, { share, ...members }: BlockMembers): RuleBlock {
  const match = { ...condition, ...(share && { share }) };
  return { path: null, ...(Object.keys(match).length > 0 && { match: { name, ...match } }), ...members };
}

/** What is wrong with blocks, by their text without targets, which are always valid: most blocks stay the same for days. */
const known = new Map<string, string | null>();
const MAX_KNOWN = 50_000;
/** Longer texts are not kept (characters). */
const MAX_KNOWN_LENGTH = 4_096;

function faultOf({ upstreams: _, ...handle }: RuleBlock): string | null {
  const text = JSON.stringify(handle);
  const before = known.get(text);
  if (before !== undefined) return before;
  if (known.size >= MAX_KNOWN) known.clear();
  const result = handleSchema.safeParse(handle);
  const [issue] = result.success ? [] : result.error.issues;
  const fault = result.success ? null : `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`;
  if (text.length <= MAX_KNOWN_LENGTH) known.set(text, fault);
  return fault;
}

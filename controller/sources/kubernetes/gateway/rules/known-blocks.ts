import type { HttpMatch, HttpRoute, HttpRule } from '../../objects/http-route.ts';
import type { Arrival } from './filters.ts';
import type { RouteBackends, RouteTargets } from './route-backends.ts';
import { blocksOfRule, type RuleBlocks } from './rule-blocks.ts';

type Question = Parameters<RouteBackends['resolve']>;
/** `round`: of the backends that it was last compared with. */
type Known = { readonly result: RuleBlocks; readonly asked: readonly (readonly [Question, RouteTargets])[]; round: symbol };

/** By match, which belongs to one rule and is the same object in the next snapshot unless its route has changed, and by arrival. */
const known = new WeakMap<HttpMatch, Map<string, Known>>();
/** Of one match. */
const MAX_ARRIVALS = 64;

/** As `blocksOfRule`, with the same objects as before for each of the rule's hosts and in each snapshot, unless the rule or its targets have changed. */
export function knownBlocksOfRule(
  route: HttpRoute,
  rule: HttpRule,
  number: number,
  match: HttpMatch,
  arrival: Arrival,
  backends: RouteBackends,
): RuleBlocks {
  const key = `${arrival.scheme} ${arrival.port}`;
  const byArrival = known.get(match) ?? new Map<string, Known>();
  const before = byArrival.get(key);
  if (before !== undefined) {
    const isCurrent =
      before.round === backends.round || before.asked.every(([question, targets]) => backends.resolve(...question) === targets);
    before.round = backends.round;
    if (isCurrent) return before.result;
  }
  const asked: [Question, RouteTargets][] = [];
  const asking = {
    resolve(...question: Question): RouteTargets {
      const targets = backends.resolve(...question);
      asked.push([question, targets]);
      return targets;
    },
  };
  const result = blocksOfRule(route, rule, number, match, arrival, asking);
  if (byArrival.size >= MAX_ARRIVALS) byArrival.clear();
  known.set(match, byArrival.set(key, { result, asked, round: backends.round }));
  return result;
}

const texts = new WeakMap<RuleBlocks['blocks'], string>();

/** As JSON. */
export function textOf(blocks: RuleBlocks['blocks']): string {
  const before = texts.get(blocks);
  if (before !== undefined) return before;
  const text = JSON.stringify(blocks);
  texts.set(blocks, text);
  return text;
}
